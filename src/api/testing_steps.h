// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "api/testing_schedule.h"

namespace weft::api {

// A line for each switch: "goroutine 3 stops at bank.cpp:47; goroutine 2 runs".
std::string describe_steps(const std::vector<Step>& steps);

}  // namespace weft::api
