// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// What a path that must preserve every register saves besides the general ones. Found out before main. Assembly reads
// it and relies on the two 32-bit words.
//   x86-64   bytes of the XSAVE area and mask of the components in it: x87, SSE, AVX, AVX-512. Left out are PKRU,
//            because it belongs to the thread, and AMX tiles, because no compiler keeps them over a call or a loop's
//            back-edge and they would cost 8 kB of every stack's reserve. Both words are 0 until they are known; until
//            then nothing may be preempted.
//   aarch64  bytes 0, mask 1 if there are SVE registers beyond the NEON ones.
extern "C" {
struct weft_vector_state_t {
  std::uint32_t bytes;
  std::uint32_t mask;
};
extern weft_vector_state_t weft_vector_state __attribute__((visibility("hidden")));
}
