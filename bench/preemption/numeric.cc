// SPDX-License-Identifier: MIT
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "kernel.h"

WEFT_KERNEL(matrix_multiply) {
  constexpr std::size_t kSize = 120;
  std::vector<double> a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<double>(i % 17), b[i] = static_cast<double>(i % 13) * 0.5;
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t k = 0; k < kSize; ++k) {
      const double factor = a[i * kSize + k];
      for (std::size_t j = 0; j < kSize; ++j) c[i * kSize + j] += factor * b[k * kSize + j];
    }
  }
  std::uint64_t hash = 0;
  for (double value : c) hash = mix(hash, value);
  return hash;
}

WEFT_KERNEL(mandelbrot) {
  std::uint64_t hash = 0;
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 120; ++x) {
      const double cr = 3.0 * x / 120 - 2, ci = 2.0 * y / 120 - 1;
      double zr = 0, zi = 0;
      int n = 0;
      while (n < 100 && zr * zr + zi * zi < 4) {
        const double next = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = next;
        ++n;
      }
      hash = mix(hash, static_cast<std::uint64_t>(n));
    }
  }
  return hash;
}

namespace {
struct Body {
  double x[3], v[3], mass;
};
}  // namespace

WEFT_KERNEL(nbody) {
  std::vector<Body> bodies;
  for (int i = 0; i < 5; ++i)
    bodies.push_back({{i * 4.8, i * 1.1 - 2, i * 0.3}, {0.1 * i, 0.7 - i * 0.2, 0.01}, 1.0 / (1 + i)});
  for (int step = 0; step < 20000; ++step) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      for (std::size_t j = i + 1; j < bodies.size(); ++j) {
        double d[3], square = 0.01;
        for (int k = 0; k < 3; ++k) d[k] = bodies[i].x[k] - bodies[j].x[k], square += d[k] * d[k];
        const double pull = 0.001 / (square * std::sqrt(square));
        for (int k = 0; k < 3; ++k)
          bodies[i].v[k] -= d[k] * bodies[j].mass * pull, bodies[j].v[k] += d[k] * bodies[i].mass * pull;
      }
    }
    for (Body& body : bodies) {
      for (int k = 0; k < 3; ++k) body.x[k] += 0.001 * body.v[k];
    }
  }
  return mix(0, bodies[0].x[0] + bodies[1].v[1]);
}

WEFT_KERNEL(spectral_norm) {
  constexpr int kSize = 250;
  std::vector<double> u(kSize, 1), v(kSize);
  const auto element = [](int i, int j) { return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1); };
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < kSize; ++i) {
      v[static_cast<std::size_t>(i)] = 0;
      for (int j = 0; j < kSize; ++j) v[static_cast<std::size_t>(i)] += element(i, j) * u[static_cast<std::size_t>(j)];
    }
    for (int i = 0; i < kSize; ++i) {
      u[static_cast<std::size_t>(i)] = 0;
      for (int j = 0; j < kSize; ++j) u[static_cast<std::size_t>(i)] += element(j, i) * v[static_cast<std::size_t>(j)];
    }
  }
  return mix(0, u[0] / v[0]);
}

WEFT_KERNEL(fft) {
  constexpr std::size_t kSize = 1 << 14;
  std::vector<double> re(kSize), im(kSize);
  for (std::size_t i = 0; i < kSize; ++i) re[i] = static_cast<double>(i % 97);
  for (std::size_t i = 1, j = 0; i < kSize; ++i) {
    std::size_t bit = kSize >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(re[i], re[j]), std::swap(im[i], im[j]);
  }
  for (std::size_t length = 2; length <= kSize; length <<= 1) {
    const double angle = -2 * std::numbers::pi / static_cast<double>(length);
    const double wr = std::cos(angle), wi = std::sin(angle);
    for (std::size_t start = 0; start < kSize; start += length) {
      double cr = 1, ci = 0;
      for (std::size_t k = start; k < start + length / 2; ++k) {
        const std::size_t l = k + length / 2;
        const double tr = re[l] * cr - im[l] * ci, ti = re[l] * ci + im[l] * cr;
        re[l] = re[k] - tr, im[l] = im[k] - ti;
        re[k] += tr, im[k] += ti;
        const double next = cr * wr - ci * wi;
        ci = cr * wi + ci * wr;
        cr = next;
      }
    }
  }
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kSize; i += 64) hash = mix(mix(hash, re[i]), im[i]);
  return hash;
}

WEFT_KERNEL(lu_decomposition) {
  constexpr std::size_t kSize = 150;
  std::vector<double> a(kSize * kSize);
  Random random;
  for (double& value : a) value = static_cast<double>(random.next() % 1000) / 100 + 1;
  for (std::size_t i = 0; i < kSize; ++i) a[i * kSize + i] += 5000;
  for (std::size_t k = 0; k < kSize; ++k) {
    for (std::size_t i = k + 1; i < kSize; ++i) {
      const double factor = a[i * kSize + k] /= a[k * kSize + k];
      for (std::size_t j = k + 1; j < kSize; ++j) a[i * kSize + j] -= factor * a[k * kSize + j];
    }
  }
  return mix(0, a[kSize * kSize - 1]);
}

WEFT_KERNEL(sieve) {
  std::vector<unsigned char> composite(1 << 20);
  std::uint64_t primes = 0, last = 0;
  for (std::size_t i = 2; i < composite.size(); ++i) {
    if (composite[i] != 0) continue;
    ++primes, last = i;
    for (std::size_t j = i * i; j < composite.size(); j += i) composite[j] = 1;
  }
  return mix(primes, last);
}

WEFT_KERNEL(big_factorial) {
  std::vector<std::uint32_t> digits{1};
  for (std::uint32_t factor = 2; factor <= 1500; ++factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& digit : digits) {
      carry += static_cast<std::uint64_t>(digit) * factor;
      digit = static_cast<std::uint32_t>(carry % 1000000000);
      carry /= 1000000000;
    }
    if (carry != 0) digits.push_back(static_cast<std::uint32_t>(carry));
  }
  std::uint64_t hash = 0;
  for (std::uint32_t digit : digits) hash = mix(hash, std::uint64_t{digit});
  return hash;
}

WEFT_KERNEL(vector_sum) {
  std::vector<int> values(20000);
  Random random;
  for (int& value : values) value = static_cast<int>(random.next());
  std::uint64_t hash = 0;
  for (int round = 0; round < 500; ++round) {
    unsigned sum = 0;
    for (int value : values) sum += static_cast<unsigned>(value);
    values[static_cast<std::size_t>(round)] ^= static_cast<int>(sum);
    hash = mix(hash, std::uint64_t{sum});
  }
  return hash;
}

WEFT_KERNEL(collatz) {
  std::uint64_t longest = 0, hash = 0;
  for (std::uint64_t start = 1; start < 60000; ++start) {
    std::uint64_t n = start, steps = 0;
    while (n != 1) n = n % 2 == 0 ? n / 2 : 3 * n + 1, ++steps;
    if (steps > longest) longest = steps, hash = mix(hash, start);
  }
  return hash;
}
