// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

// The files of viewer/page/, compiled in by cmake/WeftTools.cmake.
namespace weft::tools::asset {

extern const std::string_view kStyle;
extern const std::string_view kBody;
extern const std::string_view kScript;  // data.js, lanes.js, draw.js, panel.js, input.js: one function body

}  // namespace weft::tools::asset
