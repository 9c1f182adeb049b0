# SPDX-License-Identifier: MIT
# weft_shell_quote(OUT TEXT): the text as one word of a shell, whatever is in it. WEFT_PREFIX in it becomes the value that the
# shell's variable weft_prefix has when the file is read.
function(weft_shell_quote out text)
  string(REPLACE "'" "'\\''" text "${text}")
  string(REPLACE "WEFT_PREFIX" "'\"$weft_prefix\"'" text "${text}")
  set(${out} "'${text}'" PARENT_SCOPE)
endfunction()

# weft_write_env(FILE [NAME TEXT]...): a file for the weft command to source.
function(weft_write_env file)
  set(lines "# Read by the weft command: how to compile against this build of the library.\n")
  math(EXPR last "${ARGC} - 1")
  foreach(at RANGE 1 ${last} 2)
    math(EXPR next "${at} + 1")
    weft_shell_quote(word "${ARGV${next}}")
    string(APPEND lines "${ARGV${at}}=${word}\n")
  endforeach()
  file(CONFIGURE OUTPUT "${file}" CONTENT "@lines@" @ONLY)
endfunction()
