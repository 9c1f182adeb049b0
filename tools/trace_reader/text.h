// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Text in traces may come from anywhere: these functions make it harmless where it is shown.
namespace weft::tools {

// Valid UTF-8 of one line: control characters become \n, \x1b ..., broken bytes \xNN.
std::string visible(std::string_view text);

// `text` made visible, as a JSON string with quotes. < > & are escaped as well,
// so that it can stand in a script of an HTML page.
std::string json(std::string_view text);

std::string html(std::string_view text);

// "1.23 ms", for people.
std::string duration_text(std::int64_t ns);

}  // namespace weft::tools
