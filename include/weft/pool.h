// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace weft {

namespace detail {

struct pool_node {
  pool_node* next = nullptr;
};

// Nodes with and without an object in them, in one shard per P. Plain threads share the shards, and so do Ps beyond
// their number.
class pool_core {
 public:
  enum kind : unsigned { full, spare };
  pool_core();
  ~pool_core();  // must be empty
  pool_core(const pool_core&) = delete;

  bool put(kind which, pool_node* node) noexcept;  // false: the shard is full
  pool_node* take(kind which) noexcept;            // the caller's shard first; null: there is none

 private:
  struct shard;
  struct chain;
  std::size_t count_;
  std::unique_ptr<shard[]> shards_;
};

}  // namespace detail

// Keeps objects for reuse, so that fewer are made. As sync.Pool, it may drop what it was given.
template <class T>
class pool {
 public:
  explicit pool(std::function<T()> make) : make_(std::move(make)) {}
  pool(const pool&) = delete;
  ~pool() {
    while (auto* used = static_cast<node*>(core_.take(detail::pool_core::full))) {
      std::destroy_at(std::addressof(used->object));
      delete used;
    }
    while (auto* unused = static_cast<node*>(core_.take(detail::pool_core::spare))) delete unused;
  }

  // An object that was put back, or a new one.
  T get() {
    auto* found = static_cast<node*>(core_.take(detail::pool_core::full));
    if (found == nullptr) return make_();
    struct guard {
      detail::pool_core& core;
      node* taken;
      ~guard() {
        std::destroy_at(std::addressof(taken->object));
        if (!core.put(detail::pool_core::spare, taken)) delete taken;
      }
    } end{core_, found};
    return std::move(found->object);
  }
  void put(T object) {
    std::unique_ptr<node> place(static_cast<node*>(core_.take(detail::pool_core::spare)));
    if (place == nullptr) place = std::make_unique<node>();
    std::construct_at(std::addressof(place->object), std::move(object));
    if (core_.put(detail::pool_core::full, place.get())) {
      static_cast<void>(place.release());
    } else {
      std::destroy_at(std::addressof(place->object));
    }
  }

 private:
  struct node : detail::pool_node {
    node() noexcept {}
    ~node() {}
    union {
      T object;
    };
  };
  std::function<T()> make_;
  detail::pool_core core_;
};

}  // namespace weft
