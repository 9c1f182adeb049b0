// SPDX-License-Identifier: MIT
#pragma once
#include "insight/http_request.h"

namespace weft::insight {

// /debug/pprof/ and what is below it, with the parameters of Go's net/http/pprof: seconds, debug. `format=folded`: text
// for flame graphs.
Response pprof_page(const Request& request);

}  // namespace weft::insight
