# SPDX-License-Identifier: MIT
# cmake -DARCHIVE=libweft.a -DOBJDUMP=... -DOBJCOPY=... -P GatherText.cmake
# Puts all code of the archive into sections named weft_text: the linker then provides __start_weft_text and __stop_weft_text,
# by which a signal handler tells the runtime's code from the user's (sched/core/preempt.h).
execute_process(COMMAND "${OBJDUMP}" -h "${ARCHIVE}" OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[ \t]\\.text[^ \t\n]*" names "${headers}")
list(TRANSFORM names STRIP)
list(REMOVE_DUPLICATES names)
# What of the C++ library stands between the runtime and the user's code that it calls (sched/frames/user_call.h) is neither's.
list(FILTER names EXCLUDE REGEX "^\\.text\\.(unlikely\\.)?_ZNK?St(10stop_token|11stop_source|8functionI)")
set(arguments "")
foreach(name IN LISTS names)
  string(APPEND arguments "--rename-section ${name}=weft_text\n")
endforeach()
file(WRITE "${ARCHIVE}.sections" "${arguments}")
execute_process(COMMAND "${OBJCOPY}" "@${ARCHIVE}.sections" "${ARCHIVE}" COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE "${ARCHIVE}.sections")
