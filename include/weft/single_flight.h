// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "weft/error.h"
#include "weft/event.h"
#include "weft/mutex.h"

namespace weft {

// Calls for a key that come while another call for it is running wait for that call, and share its result or exception.
template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
class single_flight {
  static_assert(!std::is_rvalue_reference_v<V> && (std::is_void_v<V> || std::is_copy_constructible_v<V>),
                "weft::single_flight: the result is shared by copying");

 public:
  single_flight() = default;
  single_flight(const single_flight&) = delete;

  // Runs f, or blocks until the running call for the key has ended. Throws goroutine_exited if that call left by
  // this_goroutine::exit().
  template <class F>
  V run(const K& key, F&& f) {
    static_assert(gives_result<F>(),
                  "weft::single_flight::run: the function must be callable without arguments, and "
                  "its result must convert to the V of single_flight<K, V>");
    if constexpr (gives_result<F>()) {
      return share(key, std::forward<F>(f));
    } else {
      throw goroutine_exited();
    }
  }

  // Later calls for the key run anew, even while an earlier one is running.
  void forget(const K& key) {
    const std::lock_guard guard(mutex_);
    const auto place = flights_.find(key);
    if (place == flights_.end()) return;
    place->second->key = nullptr;
    flights_.erase(place);
  }

 private:
  template <class F>
  static constexpr bool gives_result() {
    if constexpr (!std::is_invocable_v<F>) {
      return false;
    } else if constexpr (std::is_reference_v<V>) {
      return std::is_lvalue_reference_v<std::invoke_result_t<F>> && std::is_convertible_v<std::invoke_result_t<F>, V>;
    } else {
      return std::is_void_v<V> || std::is_constructible_v<V, std::invoke_result_t<F>>;
    }
  }
  template <class F>
  V share(const K& key, F&& f) {
    std::unique_lock lock(mutex_);
    const auto [place, is_first] = flights_.try_emplace(key);
    if (is_first) {
      try {
        place->second = std::make_shared<flight>();
      } catch (...) {
        flights_.erase(place);
        throw;
      }
      place->second->key = std::addressof(place->first);
    }
    const std::shared_ptr<flight> current = place->second;
    lock.unlock();
    if (is_first) {
      landing end{*this, *current};
      current->fly(std::forward<F>(f));
    } else {
      current->landed.wait();
    }
    return current->result();
  }

  struct flight {
    template <class F>
    void fly(F&& f) {
      try {
        if constexpr (std::is_void_v<V>) {
          std::invoke(std::forward<F>(f));
          value.emplace();
        } else if constexpr (std::is_reference_v<V>) {
          value.emplace(std::addressof(static_cast<V>(std::invoke(std::forward<F>(f)))));
        } else {
          value.emplace(std::invoke(std::forward<F>(f)));
        }
      } catch (...) {
        error = std::current_exception();
        if (!error) throw;  // this_goroutine::exit(), which is no C++ exception: no result
      }
    }
    V result() {
      if (error) std::rethrow_exception(error);
      if (!value) throw goroutine_exited();
      if constexpr (std::is_reference_v<V>) {
        return **value;
      } else if constexpr (!std::is_void_v<V>) {
        return *value;
      }
    }
    struct nothing {};
    using stored = std::conditional_t<std::is_void_v<V>, nothing,
                                      std::conditional_t<std::is_reference_v<V>, std::remove_reference_t<V>*, V>>;
    std::optional<stored> value;
    std::exception_ptr error;
    event landed{"the running call of a single_flight"};
    // Points into the map, because f may change or destroy the caller's key. Null: forgotten. Guarded by the mutex.
    const K* key = nullptr;
  };
  struct landing {
    single_flight& calls;
    flight& current;
    ~landing() {
      {
        const std::lock_guard guard(calls.mutex_);
        if (current.key != nullptr) calls.flights_.erase(*current.key);
      }
      current.landed.set();
    }
  };

  mutex mutex_;
  std::unordered_map<K, std::shared_ptr<flight>, Hash, Equal> flights_;
};

}  // namespace weft
