// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace weft::insight {

// All metrics as Prometheus reads them. OpenMetrics, or the older text format: they differ in how counters are named.
// Stops nothing.
std::string metrics_text(bool openmetrics);

}  // namespace weft::insight
