"""What the library computes today, case by case, pinned bit for bit.

problems  small nets and inputs, made of whole-number arithmetic so that they are the same everywhere
cases     what is computed: methods on problems, settings
measures  what is computed: metrics, comparisons, runs over data sets, statistics
facts     a result as names with short digests and a few readable numbers
store     the file of them, the fingerprint of the environment, and how two of them are compared
write     writes the file anew
"""
