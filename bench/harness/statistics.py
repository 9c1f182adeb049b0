# SPDX-License-Identifier: MIT
"""The few statistics used here, written out so that the harness needs nothing but Python."""

import math
import random


def quantile(values, q):
    """Linear interpolation between order statistics (as numpy's default)."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    place = q * (len(ordered) - 1)
    low = int(math.floor(place))
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return quantile(values, 0.5)


def spread(values):
    """Interquartile range over the median: 0.05 means that the middle half of the runs lies within 5 %."""
    middle = median(values)
    if not values or middle == 0 or math.isnan(middle):
        return 0.0
    return abs((quantile(values, 0.75) - quantile(values, 0.25)) / middle)


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else math.nan


def bootstrap_interval(values, confidence=0.95, samples=400, seed=1):
    """Percentile bootstrap of the median. The seed is fixed: the same data give the same interval."""
    if len(values) < 3:
        return (min(values), max(values)) if values else (math.nan, math.nan)
    generator = random.Random(seed)
    count = len(values)
    middle = count // 2
    medians = []
    for _ in range(samples):
        drawn = sorted(generator.choices(values, k=count))
        medians.append(drawn[middle] if count % 2 else (drawn[middle - 1] + drawn[middle]) / 2)
    tail = (1 - confidence) / 2
    return quantile(medians, tail), quantile(medians, 1 - tail)


def geometric_mean_of_medians(groups):
    return geometric_mean([median(values) for values in groups])


def bootstrap_interval_of_groups(groups, confidence=0.95, samples=400, seed=1):
    """Percentile bootstrap of that mean: values are drawn anew within each group, for the groups are all there are."""
    generator = random.Random(seed)
    means = [geometric_mean_of_medians([generator.choices(values, k=len(values)) for values in groups]) for _ in range(samples)]
    tail = (1 - confidence) / 2
    return quantile(means, tail), quantile(means, 1 - tail)


def mann_whitney(first, second):
    """Two-sided p-value of "one of the two samples tends to be larger" (Mann-Whitney U).

    It asks only for order, so one wild run cannot make or hide a difference. Exact (all arrangements counted) for
    small samples without ties, else the normal approximation with corrections for ties and continuity."""
    n, m = len(first), len(second)
    if n == 0 or m == 0:
        return 1.0
    wins = sum((a > b) + 0.5 * (a == b) for a in first for b in second)
    smaller = min(wins, n * m - wins)
    everything = list(first) + list(second)
    ties = len(set(everything)) != len(everything)
    if not ties and n * m <= 2500:
        return min(1.0, 2 * _exact_tail(n, m, int(smaller)))
    counts = {}
    for value in everything:
        counts[value] = counts.get(value, 0) + 1
    total = n + m
    correction = sum(count ** 3 - count for count in counts.values()) / (total * (total - 1))
    deviation = math.sqrt(n * m / 12 * (total + 1 - correction))
    if deviation == 0:
        return 1.0
    z = max(0.0, abs(wins - n * m / 2) - 0.5) / deviation
    return math.erfc(z / math.sqrt(2))


def _exact_tail(n, m, limit):
    """P(U <= limit): arrangements of n and m values, counted by their number of wins."""
    # ways[j][u] = f(i, j, u): orders of i values of the first and j of the second sample with u wins. The largest value
    # belongs to the first (it wins j times) or to the second: f(i, j, u) = f(i - 1, j, u - j) + f(i, j - 1, u).
    ways = [[1] + [0] * limit for _ in range(m + 1)]
    for _ in range(n):
        for j in range(1, m + 1):
            for u in range(limit, -1, -1):  # downwards: u - j must still be the value for i - 1
                ways[j][u] = (ways[j][u - j] if u >= j else 0) + ways[j - 1][u]
    return sum(ways[m]) / math.comb(n + m, n)


def benjamini_hochberg(p_values, rate=0.05):
    """Which of many comparisons may be called significant when at most `rate` of those called so should be false."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    last = -1
    for rank, index in enumerate(order):
        if p_values[index] <= rate * (rank + 1) / len(p_values):
            last = rank
    accepted = set(order[:last + 1])
    return [index in accepted for index in range(len(p_values))]
