// SPDX-License-Identifier: MIT
#include "insight/page.h"

namespace weft::insight {

std::string_view page_html() noexcept {
  return
#include "insight/page.inc"
      ;
}

}  // namespace weft::insight
