"""Private linear UCB under joint differential privacy: each user's action is that user's own, the statistics that
it is computed from are everybody's (Shariff and Sheffet 2018; Hsu et al. 2014, the billboard lemma).

A user brings two contexts of length 1 and the rewards of both actions, in [-1, 1]: a row (x_1, x_2, y_1, y_2). The
statistics of a played context x with reward y are the matrix x xᵀ and the vector y x, summed by a tree with
Gaussian noise. A changed user moves them by 4 - 2c - 2c² squared, where c is the cosine between the two contexts and
the rewards are 1: at most 9/2, at 120 degrees, and not 4.
"""
