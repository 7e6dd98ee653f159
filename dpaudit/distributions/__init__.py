"""Offer probability distributions with exact parameters, in floats for speed and in balls for proof."""

from dpaudit.distributions.base import (
    BaseMeasure,
    Distribution,
    LogConcavity,
    Support,
    distribution_from_json,
    register,
)
from dpaudit.distributions.binomial import Bernoulli, Binomial
from dpaudit.distributions.channels import Kernel, kernel_from_json
from dpaudit.distributions.continuous import Exponential, Gaussian, Gumbel, Laplace
from dpaudit.distributions.convolution import ConvolvedIntegers
from dpaudit.distributions.counts import CountVector
from dpaudit.distributions.discrete_gaussian import DiscreteGaussian
from dpaudit.distributions.finite import Categorical
from dpaudit.distributions.heavy_tails import Cauchy, Student
from dpaudit.distributions.images import Counts, Image, Shuffle, Sum, SumMod, image_from_json
from dpaudit.distributions.lattice import DiscreteLaplace, LatticeDistribution
from dpaudit.distributions.multiset import ShuffledMultiset
from dpaudit.distributions.noisy_maximum import NoisyMaximum
from dpaudit.distributions.point_mass import PointMass
from dpaudit.distributions.poisson import Poisson
from dpaudit.distributions.polya import Polya
from dpaudit.distributions.polya_difference import PolyaDifference
from dpaudit.distributions.product import Product
from dpaudit.distributions.randomised_response import RandomisedResponse
from dpaudit.distributions.scalar import ScalarDistribution
from dpaudit.distributions.selection import NoisyArgmax
from dpaudit.distributions.shifted import Shifted
from dpaudit.distributions.skellam import Skellam
from dpaudit.distributions.sparse_vector import AboveThreshold
from dpaudit.distributions.sparse_vector_values import ValuesAboveThreshold
from dpaudit.distributions.staircase import Staircase
from dpaudit.distributions.subsampled import SubsampledGaussianSum
from dpaudit.distributions.tree_counter import BinaryTree
from dpaudit.distributions.truncated import Truncated
from dpaudit.distributions.wrapped import WrappedMod

__all__ = [
    "AboveThreshold",
    "BaseMeasure",
    "Bernoulli",
    "BinaryTree",
    "Binomial",
    "Categorical",
    "Cauchy",
    "ConvolvedIntegers",
    "CountVector",
    "Counts",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Distribution",
    "Exponential",
    "Gaussian",
    "Gumbel",
    "Image",
    "Kernel",
    "Laplace",
    "LatticeDistribution",
    "LogConcavity",
    "NoisyArgmax",
    "NoisyMaximum",
    "PointMass",
    "Poisson",
    "Polya",
    "PolyaDifference",
    "Product",
    "RandomisedResponse",
    "ScalarDistribution",
    "Shifted",
    "Shuffle",
    "ShuffledMultiset",
    "Skellam",
    "Staircase",
    "Student",
    "SubsampledGaussianSum",
    "Sum",
    "SumMod",
    "Support",
    "Truncated",
    "ValuesAboveThreshold",
    "WrappedMod",
    "distribution_from_json",
    "image_from_json",
    "kernel_from_json",
    "register",
]
