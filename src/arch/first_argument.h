// SPDX-License-Identifier: MIT
#pragma once

// Finds the first argument of an aarch64 system call, from the code before the call and the registers after it. The
// kernel returns the result in the argument's register, so the argument is lost there; it leaves the other registers
// alone.
//   How        the C library loads the arguments just before the call. Going back from the call, the instruction that
//              wrote x0 says where the value came from, and whether that source still holds it.
//   No answer  if anything but plain arithmetic, loads and stores is in between; if the source was overwritten since;
//              or if a jump from nearby leads behind the instruction found, because then another one may have written
//              x0 last.
// Nothing here needs an aarch64 processor: the tests run on any.
#include <cstdint>
#include <optional>
#include <span>

namespace weft::arch::aarch64 {

using Instruction = std::uint32_t;

inline constexpr Instruction kSystemCall = 0xd4000001;  // svc #0
inline constexpr unsigned kStackPointer = 31, kNothing = 31;

struct Registers {
  std::uint64_t general[31];
  std::uint64_t stack;
};

constexpr unsigned target(Instruction i) noexcept { return i & 31; }
constexpr unsigned first_source(Instruction i) noexcept { return i >> 5 & 31; }
constexpr unsigned second_source(Instruction i) noexcept { return i >> 16 & 31; }
constexpr bool is_wide(Instruction i) noexcept { return i >> 31 != 0; }

constexpr bool is_move(Instruction i) noexcept { return (i & 0x7fe0ffe0) == 0x2a0003e0; }            // mov x0, x19
constexpr bool is_constant(Instruction i) noexcept { return (i & 0x7f800000) == 0x52800000; }        // mov x0, #1
constexpr bool is_not_constant(Instruction i) noexcept { return (i & 0x7f800000) == 0x12800000; }    // mov x0, #-1
constexpr bool is_sum(Instruction i) noexcept { return (i & 0xff800000) == 0x91000000; }             // add x0, sp, #16
constexpr bool is_sign_extension(Instruction i) noexcept { return (i & 0xfffffc00) == 0x93407c00; }  // sxtw x0, w19
constexpr bool is_load(Instruction i) noexcept { return (i & 0xbfc00000) == 0xb9400000; }            // ldr x0, [sp, #8]
constexpr bool is_store(Instruction i) noexcept { return (i & 0xbfc00000) == 0xb9000000; }           // str x1, [sp, #8]
constexpr bool is_arithmetic(Instruction i) noexcept {
  return (i & 0x1c000000) == 0x10000000 || (i & 0x0e000000) == 0x0a000000;
}

// Distance in instructions of a direct jump that is no call; 0: another instruction.
constexpr std::int64_t jump(Instruction i) noexcept {
  const auto field = [i](unsigned low, unsigned bits) {
    const auto up = static_cast<std::int64_t>(static_cast<std::uint64_t>(i >> low) << (64 - bits));
    return up >> (64 - bits);
  };
  if ((i & 0xfc000000) == 0x14000000) return field(0, 26);                                    // b
  if ((i & 0xff000000) == 0x54000000 || (i & 0x7e000000) == 0x34000000) return field(5, 19);  // b.cond, cbz, cbnz
  if ((i & 0x7e000000) == 0x36000000) return field(5, 14);                                    // tbz, tbnz
  return 0;
}

// `code` is readable, code[call] is the system call.
inline std::optional<std::uint64_t> first_argument(std::span<const Instruction> code, std::size_t call,
                                                   const Registers& now) noexcept {
  constexpr std::size_t kMostLoads = 16;
  std::uint32_t written = 0;
  const auto value = [&](unsigned source, bool wide) -> std::optional<std::uint64_t> {
    if (source == 0 || (written >> source & 1) != 0) return std::nullopt;
    return wide ? now.general[source] : static_cast<std::uint32_t>(now.general[source]);
  };
  for (std::size_t back = 1; back <= kMostLoads && back <= call; ++back) {
    const std::size_t at = call - back;
    const Instruction i = code[at];
    if (is_store(i)) continue;
    if (!is_arithmetic(i) && !is_load(i)) return std::nullopt;
    if (target(i) != 0) {
      if (target(i) == kStackPointer) return std::nullopt;  // or xzr: not worth telling apart
      written |= 1u << target(i);
      continue;
    }
    for (std::size_t from = 0; from < code.size(); ++from) {
      const std::int64_t to = static_cast<std::int64_t>(from) + jump(code[from]);
      if (jump(code[from]) != 0 && to > static_cast<std::int64_t>(at) && to <= static_cast<std::int64_t>(call))
        return std::nullopt;
    }
    if (is_move(i)) return second_source(i) == kNothing ? 0 : value(second_source(i), is_wide(i));
    if (is_constant(i) || is_not_constant(i)) {
      const std::uint64_t constant = static_cast<std::uint64_t>(i >> 5 & 0xffff) << (16 * (i >> 21 & 3));
      const std::uint64_t whole = is_constant(i) ? constant : ~constant;
      return is_wide(i) ? whole : static_cast<std::uint32_t>(whole);
    }
    if (is_sum(i)) {
      const std::uint64_t added = static_cast<std::uint64_t>(i >> 10 & 0xfff) << ((i >> 22 & 1) * 12);
      if (first_source(i) == kStackPointer) return now.stack + added;
      const auto base = value(first_source(i), true);
      return base ? std::optional(*base + added) : std::nullopt;
    }
    if (is_sign_extension(i)) {
      const auto narrow = value(first_source(i), false);
      return narrow ? std::optional(
                          static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(*narrow))))
                    : std::nullopt;
    }
    if (is_load(i) && first_source(i) == kStackPointer) {
      const std::uint64_t address = now.stack + (static_cast<std::uint64_t>(i >> 10 & 0xfff) << (i >> 30 & 3));
      if ((i >> 30 & 3) == 3) return *reinterpret_cast<const std::uint64_t*>(address);
      return *reinterpret_cast<const std::uint32_t*>(address);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace weft::arch::aarch64
