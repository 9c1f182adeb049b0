// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Compression for profiles, which every reader expects gzipped (RFC 1951, RFC 1952). One block with the fixed codes, and
// the nearest match of at least four bytes: half as good as zlib, which the library does not link.
namespace weft::profile {

std::uint32_t crc32(std::string_view bytes) noexcept;
// A whole gzip file. Throws std::bad_alloc.
std::string gzip(std::string_view bytes);

}  // namespace weft::profile
