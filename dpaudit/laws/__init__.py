"""Probability laws with exact parameters: in floats for speed, in balls for proof."""

from dpaudit.laws.base import BaseMeasure, Law, LogConcavity, Support, law_from_json, register
from dpaudit.laws.binomial import Bernoulli, Binomial
from dpaudit.laws.channels import Kernel, kernel_from_json
from dpaudit.laws.continuous import Exponential, Gaussian, Gumbel, Laplace
from dpaudit.laws.convolution import ConvolvedIntegers
from dpaudit.laws.counts import CountVector
from dpaudit.laws.discrete_gaussian import DiscreteGaussian
from dpaudit.laws.finite import Categorical
from dpaudit.laws.images import Counts, Image, Shuffle, Sum, SumMod, image_from_json
from dpaudit.laws.lattice import DiscreteLaplace, LatticeLaw
from dpaudit.laws.multiset import ShuffledMultiset
from dpaudit.laws.noisy_maximum import NoisyMaximum
from dpaudit.laws.point_mass import PointMass
from dpaudit.laws.polya import Polya
from dpaudit.laws.polya_difference import PolyaDifference
from dpaudit.laws.product import Product
from dpaudit.laws.randomised_response import RandomisedResponse
from dpaudit.laws.scalar import ScalarLaw
from dpaudit.laws.selection import NoisyArgmax
from dpaudit.laws.shifted import Shifted
from dpaudit.laws.skellam import Skellam
from dpaudit.laws.sparse_vector import AboveThreshold
from dpaudit.laws.sparse_vector_values import ValuesAboveThreshold
from dpaudit.laws.subsampled import SubsampledGaussianSum
from dpaudit.laws.tree_counter import BinaryTree
from dpaudit.laws.wrapped import WrappedMod

__all__ = [
    "AboveThreshold",
    "BaseMeasure",
    "Bernoulli",
    "BinaryTree",
    "Binomial",
    "Categorical",
    "ConvolvedIntegers",
    "CountVector",
    "Counts",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "Gumbel",
    "Image",
    "Kernel",
    "Laplace",
    "LatticeLaw",
    "Law",
    "LogConcavity",
    "NoisyArgmax",
    "NoisyMaximum",
    "PointMass",
    "Polya",
    "PolyaDifference",
    "Product",
    "RandomisedResponse",
    "ScalarLaw",
    "Shifted",
    "Shuffle",
    "ShuffledMultiset",
    "Skellam",
    "SubsampledGaussianSum",
    "Sum",
    "SumMod",
    "Support",
    "ValuesAboveThreshold",
    "WrappedMod",
    "image_from_json",
    "kernel_from_json",
    "law_from_json",
    "register",
]
