# SPDX-License-Identifier: MIT
# cmake -DARCHIVE=libweft.a -DNM=... -DOBJCOPY=... -P HideFromTsan.cmake
# What the runtime's objects call of the functions that TSan stands in for becomes a call of those in os/unwatched.cc. That file says
# which: it defines weft_unwatched_X for each X, and its weft_watched_X are X again.
execute_process(COMMAND "${NM}" --defined-only "${ARCHIVE}" OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " T weft_unwatched_[^ \n]+" defined "${symbols}")
if(NOT defined)
  message(FATAL_ERROR "${ARCHIVE} has nothing that stands in for what TSan watches (src/os/unwatched.cc)")
endif()
set(hide "")
set(show "")
foreach(symbol IN LISTS defined)
  string(REPLACE " T weft_unwatched_" "" name "${symbol}")
  string(APPEND hide "${name} weft_unwatched_${name}\n")
  string(APPEND show "weft_watched_${name} ${name}\n")
endforeach()
foreach(step hide show)
  file(WRITE "${ARCHIVE}.${step}" "${${step}}")
  execute_process(COMMAND "${OBJCOPY}" "--redefine-syms=${ARCHIVE}.${step}" "${ARCHIVE}" COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE "${ARCHIVE}.${step}")
endforeach()
