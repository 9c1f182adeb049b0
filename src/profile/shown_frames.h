// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "os/symbolizer.h"
#include "profile/pprof.h"

// Which frames of a stack profiles show, and by which names.
namespace weft::profile {

// Begin and end of the part without the scheduler's own frames: inside, all but the function that the user has called;
// outside, those that start a goroutine.
std::pair<std::size_t, std::size_t> shown_part(const std::vector<void*>& stack);
// What calls closures: templates of weft's and the standard library's headers, compiled with the user's code. Not if the
// user's function was inlined there.
bool is_glue(const os::Symbol& symbol);
// "void f<int>(int) const" -> "f": what a person looks for in a list. A lambda is "main::{lambda#1}".
std::string short_name(const std::string& function);
// The function's name; where the user's function was inlined into glue, "{file:line}"; else the module in brackets.
std::string name_of(const os::Symbol& symbol);

// One line for each sample: frames from the outermost to the innermost, separated by ';', and the first value. What flame
// graphs are drawn from.
std::string folded(const Profile& profile);
// As Go's profiles with debug=1: value, addresses, and a line for each frame.
std::string listing(const Profile& profile);

}  // namespace weft::profile
