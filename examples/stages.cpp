// Interfaces by behaviour, as in Emerald and in Go after it: whatever can run between two channels is a stage of a pipeline. No
// stage names a base class, stages of all types stand in one list, and a pipeline is a stage itself, so pipelines are made of
// pipelines. The type of the values is a parameter of all of it.
#include <weft/chan.h>
#include <weft/go.h>
#include <weft/sync.h>
#include <concepts>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

// The behaviour: reads until `in` ends, then ends `out`.
template <class S, class T>
concept Stage = requires(S stage, weft::chan<T> in, weft::chan<T> out) {
  { stage.run(in, out) } -> std::same_as<void>;
};

// Holds whatever has it.
template <class T>
class AnyStage {
 public:
  template <class S>
    requires(!std::same_as<S, AnyStage>) && Stage<S, T>
  AnyStage(S stage) : held_(std::make_unique<Holder<S>>(std::move(stage))) {}  // on purpose not explicit
  void run(weft::chan<T> in, weft::chan<T> out) { held_->run(in, out); }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual void run(weft::chan<T> in, weft::chan<T> out) = 0;
  };
  template <class S>
  struct Holder final : Held {
    explicit Holder(S it) : stage(std::move(it)) {}
    void run(weft::chan<T> in, weft::chan<T> out) override { stage.run(in, out); }
    S stage;
  };
  std::unique_ptr<Held> held_;
};

// A function of one value, for each.
template <class F>
struct Each {
  F function;
  template <class T>
    requires std::convertible_to<std::invoke_result_t<F, T>, T>
  void run(weft::chan<T> in, weft::chan<T> out) {
    for (T& value : in) out.send(function(std::move(value)));
    out.close();
  }
};

struct WithoutRepeats {
  template <std::equality_comparable T>
  void run(weft::chan<T> in, weft::chan<T> out) {
    for (std::optional<T> last, next; (next = in.recv()); last = std::move(next))
      if (next != last) out.send(*next);
    out.close();
  }
};

template <class T>
class Pipeline {
 public:
  template <class... S>
  explicit Pipeline(S... stages) {
    (stages_.emplace_back(std::move(stages)), ...);
  }
  void run(weft::chan<T> in, weft::chan<T> out) {
    weft::wait_group running;
    for (AnyStage<T>& stage : stages_) {
      const weft::chan<T> next = &stage == &stages_.back() ? out : weft::chan<T>();
      running.go([&stage, in, next] { stage.run(in, next); });
      in = next;
    }
    running.wait();
  }

 private:
  std::vector<AnyStage<T>> stages_;
};

struct Bystander {
  void walk(weft::chan<int> in, weft::chan<int> out);
};

// What is a stage is decided by what it can do, when the program is compiled.
static_assert(Stage<WithoutRepeats, int> && Stage<WithoutRepeats, std::string>);
static_assert(Stage<AnyStage<int>, int> && !Stage<AnyStage<int>, std::string>);
static_assert(Stage<Pipeline<std::string>, std::string>);
static_assert(!Stage<Bystander, int> && !Stage<int, int>);

template <class T, Stage<T> S>
void show(S stage, std::vector<T> values) {
  weft::chan<T> in, out;
  weft::wait_group running;
  running.go([in, &values] {
    for (T& value : values) in.send(std::move(value));
    in.close();
  });
  running.go([&stage, in, out] { stage.run(in, out); });
  for (const T& value : out) std::cout << value << ' ';
  std::cout << '\n';
  running.wait();
}

}  // namespace

int main() {
  weft::run([] {
    const auto half = Each{[](int n) { return n / 2; }};
    show<int>(Pipeline<int>(Each{[](int n) { return n + 100; }}, Pipeline<int>(half, WithoutRepeats()), half),
              {1, 2, 3, 4, 5, 6});
    const auto shout = Each{[](std::string word) { return word + "!"; }};
    show<std::string>(Pipeline<std::string>(WithoutRepeats(), shout, shout), {"stop", "stop", "go", "go", "stop"});
  });
}
