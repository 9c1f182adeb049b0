// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "insight/http_server.h"

namespace weft::insight {

// The pages of the debug server. Empty token: whoever is on this machine may see them, if the browser asks for this
// machine by name (no page of another site may).
Site make_site(std::string token);

}  // namespace weft::insight
