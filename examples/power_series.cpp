// Power series as processes: a series is a channel that delivers its coefficients, one after the other, as long as somebody
// wants them. Sum, product, derivative, integral and substitution are processes that take coefficients from some series and
// make those of another; a series may even be defined by itself, as exp and tan are here by their differential equations.
// After Douglas McIlroy, Squinting at Power Series (1990). Coefficients are exact fractions.
#include <weft/chan.h>
#include <weft/go.h>
#include <weft/select.h>
#include <weft/wait_group.h>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace {

struct rational {
  std::int64_t num = 0, den = 1;
};

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw std::overflow_error("a coefficient needs more than 64 bits");
  return product;
}
rational operator*(rational a, rational b) {
  const std::int64_t one = std::gcd(a.num, b.den), other = std::gcd(b.num, a.den);
  if (a.num == 0 || b.num == 0) return {};
  return {times(a.num / one, b.num / other), times(a.den / other, b.den / one)};
}
rational operator+(rational a, rational b) {
  const std::int64_t den = std::lcm(a.den, b.den), num = times(a.num, den / a.den) + times(b.num, den / b.den);
  const std::int64_t common = std::gcd(num, den);
  return {num / common, den / common};
}

// Coefficients on demand: a process computes one only when it is wanted, else a series defined by itself would run away.
// At most one wish and one coefficient are under way, so that a place for each keeps senders from waiting.
struct series {
  weft::chan<std::monostate> want{1};
  weft::chan<rational> coefficient{1};
};

weft::wait_group processes;
weft::chan<std::monostate> enough;  // closed: nobody wants anything more, and all processes end

void leave(std::optional<std::monostate>) { weft::this_goroutine::exit(); }  // destructors run, then the goroutine ends

rational get(series f) {
  rational result;
  f.want.send({});
  weft::select(weft::on_recv(f.coefficient, [&](std::optional<rational> c) { result = *c; }),
               weft::on_recv(enough, leave));
  return result;
}

bool wanted(const series& f) { return weft::select(weft::on_recv(f.want), weft::on_recv(enough)) == 0; }

// A new series, and a process that fills it.
template <class F>
series make(F fill) {
  series out;
  processes.go([out, fill] { fill(out); });
  return out;
}

void copy(const series& from, const series& to) {
  while (wanted(to)) to.coefficient.send(get(from));
}

// One series for two readers of different speed: what one of them has not read yet is kept for it.
std::pair<series, series> twice(series f) {
  struct reader {
    series out;
    std::deque<rational> kept{};
    bool waits = false;
  };
  const series left, right;
  processes.go([f, a = reader{left}, b = reader{right}]() mutable {
    for (bool asked = false;;) {
      weft::select(weft::on_recv(a.out.want, [&](auto) { a.waits = true; }),
                   weft::on_recv(b.out.want, [&](auto) { b.waits = true; }),
                   weft::on_recv(f.coefficient,
                                 [&](std::optional<rational> c) {
                                   a.kept.push_back(*c);
                                   b.kept.push_back(*c);
                                   asked = false;
                                 }),
                   weft::on_recv(enough, leave));
      for (reader* r : {&a, &b}) {
        if (r->waits && !r->kept.empty()) {
          r->out.coefficient.send(r->kept.front());
          r->kept.pop_front();
          r->waits = false;
        } else if (r->waits && !std::exchange(asked, true)) {
          f.want.send({});
        }
      }
    }
  });
  return {left, right};
}

// The given coefficients, then zeros.
series polynomial(std::vector<rational> coefficients) {
  return make([=](const series& out) {
    for (std::size_t n = 0; wanted(out); ++n)
      out.coefficient.send(n < coefficients.size() ? coefficients[n] : rational());
  });
}
series repeated(rational c) {
  return make([=](const series& out) {
    while (wanted(out)) out.coefficient.send(c);
  });
}
series add(series f, series g) {
  return make([=](const series& out) {
    while (wanted(out)) out.coefficient.send(get(f) + get(g));
  });
}
series scale(rational factor, series f) {
  return make([=](const series& out) {
    while (wanted(out)) out.coefficient.send(factor * get(f));
  });
}
series prepend(rational first, series f) {  // first + x f
  return make([=](const series& out) {
    if (wanted(out)) out.coefficient.send(first);
    copy(f, out);
  });
}
series derivative(series f) {
  return make([=](const series& out) {
    for (std::int64_t n = 0; wanted(out); ++n) {
      if (n == 0) get(f);
      out.coefficient.send(rational{n + 1} * get(f));
    }
  });
}
series integral(rational constant, series f) {
  return prepend(constant, make([=](const series& out) {
                   for (std::int64_t n = 1; wanted(out); ++n) out.coefficient.send(rational{1, n} * get(f));
                 }));
}

// (f0 + x F)(g0 + x G) = f0 g0 + x (f0 G + g0 F + x F G): a product that contains another, of what follows.
series multiply(series f, series g) {
  return make([=](const series& out) {
    if (!wanted(out)) return;
    const rational f0 = get(f), g0 = get(g);
    out.coefficient.send(f0 * g0);
    const auto [f1, f2] = twice(f);
    const auto [g1, g2] = twice(g);
    copy(add(add(scale(f0, g1), scale(g0, f1)), prepend({0}, multiply(f2, g2))), out);
  });
}

// f(g) = f0 + x G F(g), for a g = x G without a constant.
series substitute(series f, series g) {
  return make([=](const series& out) {
    if (!wanted(out)) return;
    out.coefficient.send(get(f));
    const auto [g1, g2] = twice(g);
    get(g1);  // its zero
    copy(multiply(g1, substitute(f, g2)), out);
  });
}

// A series given by what it does to itself: y = of(y).
template <class F>
series solve(F of) {
  series y;
  const auto [result, again] = twice(y);
  processes.go([value = of(again), y] { copy(value, y); });
  return result;
}
// y = exp(f), for an f without a constant: y' = y f', y(0) = 1
series exponential(series f) {
  return solve([=](series y) { return integral({1}, multiply(y, derivative(f))); });
}
// y = tan x: y' = 1 + y y, y(0) = 0
series tangent() {
  return solve([](series y) {
    const auto [one, other] = twice(y);
    return integral({0}, add(polynomial({{1}}), multiply(one, other)));
  });
}

void print(const char* name, const series& f, int terms) {
  std::printf("%-14s", name);
  for (int i = 0; i < terms; ++i) {
    const rational c = get(f);
    std::printf(" %lld", static_cast<long long>(c.num));
    if (c.den != 1) std::printf("/%lld", static_cast<long long>(c.den));
  }
  std::printf("\n");
}

}  // namespace

int main() {
  weft::run([] {
    const auto ones = [] { return repeated({1}); };        // 1/(1 - x)
    const auto x = [] { return polynomial({{0}, {1}}); };  // x
    print("1/(1-x)", ones(), 10);
    print("its square", multiply(ones(), ones()), 10);
    print("derivative", derivative(ones()), 10);
    print("log 1/(1-x)", integral({0}, ones()), 10);
    print("Fibonacci", substitute(ones(), polynomial({{0}, {1}, {1}})), 10);  // 1/(1 - x - x^2)
    print("exp x", exponential(x()), 10);
    print("exp -2x", exponential(scale({-2}, x())), 10);
    print("exp(exp x - 1)", substitute(exponential(x()), integral({0}, exponential(x()))), 7);
    print("tan x", tangent(), 14);
    enough.close();
    processes.wait();
    std::printf("all processes have ended\n");
  });
}
