// SPDX-License-Identifier: MIT
#pragma once
#include <type_traits>

#include "model/relacy_atomics.h"

// Stands in for src/base/atomic.h: the same names over relacy's atomics, so that sources which are not templates are explored as
// they ship. An Atom is a literal type as the real one is (public types have constexpr constructors).
namespace weft::model {

// Makes the orders of some accesses weaker than written. Set between simulations, never during one.
struct Fault {
  const char* where = nullptr;  // part of a file's or function's name
  // A CAS or subtraction loads, then stores; every order is relaxed; seq_cst is only acquire and release.
  enum Kind { kSplit, kUnordered, kNotSeqCst } kind = kSplit;
};
inline Fault fault;

inline bool is_faulty(Fault::Kind kind, const ::std::source_location& at) {
  if (fault.where == nullptr || fault.kind != kind) return false;
  return ::std::string_view(at.file_name()).ends_with(fault.where) ||
         ::std::string_view(at.function_name()).find(fault.where) != ::std::string_view::npos;
}

// Random steps alone keep threads abreast: what needs one to get far ahead of another would hardly ever be seen.
inline void dawdle() {
  if (rl::rand(12) != 0) return;
  for (unsigned steps = 4u << rl::rand(4); steps > 0; --steps) rl::yield(1, RL_INFO);
}

template <class T>
class StandInAtom {
  using Where = ::std::source_location;

 public:
  constexpr StandInAtom() noexcept : StandInAtom(T{}) {}
  constexpr StandInAtom(T initial) noexcept {  // NOLINT(google-explicit-constructor): as std::atomic
    if (!::std::is_constant_evaluated()) make(initial);
  }
  constexpr ~StandInAtom() {
    if (!::std::is_constant_evaluated()) unmake();
  }
  StandInAtom(const StandInAtom&) = delete;
  StandInAtom& operator=(const StandInAtom&) = delete;

  T load(rl::memory_order order, Where at) const { return value().load(weaken(order, at, rl::mo_acquire), info(at)); }
  void store(T v, rl::memory_order order, Where at) { value().store(v, weaken(order, at, rl::mo_release), info(at)); }
  T exchange(T v, rl::memory_order order, Where at) { return value().exchange(v, weaken(order, at), info(at)); }
  T fetch_add(T v, rl::memory_order order, Where at) { return value().fetch_add(v, weaken(order, at), info(at)); }
  T fetch_sub(T v, rl::memory_order order, Where at) {
    if (is_faulty(Fault::kSplit, at)) {
      const T seen = value().load(rl::mo_relaxed, info(at));
      value().store(seen - v, order, info(at));
      return seen;
    }
    return value().fetch_sub(v, weaken(order, at), info(at));
  }
  T fetch_or(T v, rl::memory_order order, Where at) { return value().fetch_or(v, weaken(order, at), info(at)); }
  T fetch_and(T v, rl::memory_order order, Where at) { return value().fetch_and(v, weaken(order, at), info(at)); }
  bool cas(T& expected, T desired, rl::memory_order order, rl::memory_order failure, Where at) {
    if (is_faulty(Fault::kSplit, at)) {
      const T seen = value().load(failure, info(at));
      if (seen != expected) {
        expected = seen;
        return false;
      }
      value().store(desired, order == rl::mo_acquire ? rl::mo_relaxed : rl::mo_release, info(at));
      return true;
    }
    return value().compare_exchange(rl::bool_t<false>(), expected, desired, weaken(order, at), weaken(failure, at),
                                    info(at));
  }

  T load_relaxed(Where at = Where::current()) const { return load(rl::mo_relaxed, at); }
  T load_acquire(Where at = Where::current()) const { return load(rl::mo_acquire, at); }
  T load_seq_cst(Where at = Where::current()) const { return load(rl::mo_seq_cst, at); }
  void store_relaxed(T v, Where at = Where::current()) { store(v, rl::mo_relaxed, at); }
  void store_release(T v, Where at = Where::current()) { store(v, rl::mo_release, at); }
  void store_seq_cst(T v, Where at = Where::current()) { store(v, rl::mo_seq_cst, at); }
  T exchange_acquire(T v, Where at = Where::current()) { return exchange(v, rl::mo_acquire, at); }
  T exchange_acq_rel(T v, Where at = Where::current()) { return exchange(v, rl::mo_acq_rel, at); }
  bool cas_acquire(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_acquire, rl::mo_acquire, at);
  }
  bool cas_acq_rel(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_acq_rel, rl::mo_acquire, at);
  }
  bool cas_seq_cst(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_seq_cst, rl::mo_acquire, at);
  }
  T fetch_add_relaxed(T v, Where at = Where::current()) { return fetch_add(v, rl::mo_relaxed, at); }
  T fetch_sub_acq_rel(T v, Where at = Where::current()) { return fetch_sub(v, rl::mo_acq_rel, at); }
  T fetch_and_acq_rel(T v, Where at = Where::current()) { return fetch_and(v, rl::mo_acq_rel, at); }

  T debug_value() const { return hold_.value.debug_value(); }
  rl::atomic<T>& raw() { return hold_.value; }

 private:
  static rl::debug_info info(const Where& at) { return {"", at.file_name(), at.line()}; }
  static rl::memory_order weaken(rl::memory_order order, const Where& at,
                                 rl::memory_order without_seq_cst = rl::mo_acq_rel) {
    if (is_faulty(Fault::kUnordered, at)) return rl::mo_relaxed;
    return order == rl::mo_seq_cst && is_faulty(Fault::kNotSeqCst, at) ? without_seq_cst : order;
  }
  void make(T initial) {
    ::new (static_cast<void*>(&hold_.value)) rl::atomic<T>(initial);
    is_made_ = true;
  }
  void unmake() {
    if (!is_made_) return;  // of a constant-initialised object: no execution's, and not to be used in one
    hold_.value.~atomic();
    const_cast<volatile bool&>(is_gone_) = true;  // a plain store to an object that ends may be left out
  }
  rl::atomic<T>& value() const {
    dawdle();
    // relacy does not notice: the storage is still there.
    RL_ASSERT(is_made_ && !const_cast<const volatile bool&>(is_gone_));
    return hold_.value;
  }

  union Hold {
    constexpr Hold() : nothing(0) {}
    constexpr ~Hold() {}
    char nothing;
    rl::atomic<T> value;
  };
  mutable Hold hold_;
  bool is_made_ = false, is_gone_ = false;
};

}  // namespace weft::model

namespace weft::base {

template <class T>
using Atom = model::StandInAtom<T>;

// Classes that take their atomics as a parameter have these, unless told otherwise.
struct StdAtomics {
  template <class T>
  using atom = Atom<T>;
};

inline void full_fence() { rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO); }
inline void cpu_relax(unsigned = 1) { rl::yield(1, RL_INFO); }

}  // namespace weft::base

// Public headers say std::atomic. Inside namespace weft that is looked up here first.
namespace weft::std {

using namespace ::std;

constexpr rl::memory_order model_order(::std::memory_order order) {
  switch (order) {
    case ::std::memory_order_relaxed: return rl::mo_relaxed;
    case ::std::memory_order_acquire: return rl::mo_acquire;
    case ::std::memory_order_release: return rl::mo_release;
    case ::std::memory_order_acq_rel: return rl::mo_acq_rel;
    default:                          return rl::mo_seq_cst;
  }
}

template <class T>
class atomic : public model::StandInAtom<T> {
  using Base = model::StandInAtom<T>;
  using Order = ::std::memory_order;
  using Where = ::std::source_location;

 public:
  using Base::Base;
  T load(Order order, Where at = Where::current()) const { return Base::load(model_order(order), at); }
  void store(T v, Order order, Where at = Where::current()) { Base::store(v, model_order(order), at); }
  T exchange(T v, Order order, Where at = Where::current()) { return Base::exchange(v, model_order(order), at); }
  T fetch_add(T v, Order order, Where at = Where::current()) { return Base::fetch_add(v, model_order(order), at); }
  T fetch_sub(T v, Order order, Where at = Where::current()) { return Base::fetch_sub(v, model_order(order), at); }
  T fetch_or(T v, Order order, Where at = Where::current()) { return Base::fetch_or(v, model_order(order), at); }
  T fetch_and(T v, Order order, Where at = Where::current()) { return Base::fetch_and(v, model_order(order), at); }
  bool compare_exchange_strong(T& expected, T desired, Order order, Order failure, Where at = Where::current()) {
    return Base::cas(expected, desired, model_order(order), model_order(failure), at);
  }
  bool compare_exchange_strong(T& expected, T desired, Order order, Where at = Where::current()) {
    return compare_exchange_strong(expected, desired, order, on_failure(order), at);
  }
  // May fail for no reason.
  bool compare_exchange_weak(T& expected, T desired, Order order, Order failure, Where at = Where::current()) {
    if (rl::rand(4) == 0) {
      expected = load(failure, at);
      return false;
    }
    return compare_exchange_strong(expected, desired, order, failure, at);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order, Where at = Where::current()) {
    return compare_exchange_weak(expected, desired, order, on_failure(order), at);
  }

 private:
  static Order on_failure(Order order) {
    const bool acquires = order == ::std::memory_order_acquire || order == ::std::memory_order_acq_rel;
    return acquires ? ::std::memory_order_acquire : ::std::memory_order_relaxed;
  }
};

}  // namespace weft::std
