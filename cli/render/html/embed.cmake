# Writes OUTPUT: C++ that defines html_page(), PAGE with SCRIPT, STYLE and LICENSES in it, in the pieces between which
# a report goes.
#
# The page's policy allows the script and the style by the SHA-256 of what stands between their tags, in base64, and
# nothing else. Both are the same in every report, so their hashes are computed here.
function(hash_of file result)
  file(SHA256 ${file} digits)
  string(TOUPPER ${digits} digits)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E echo_append ${digits}
    COMMAND basenc --decode --base16
    COMMAND basenc --base64 --wrap=0
    OUTPUT_VARIABLE hash COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${hash}" PARENT_SCOPE)
endfunction()

# Text in which no piece of the bundle may look like the end of what it stands in.
function(require_absent text)
  foreach(end IN LISTS ARGN)
    string(FIND "${text}" "${end}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "The bundled viewer contains '${end}', which ends the element or literal that it stands in.")
    endif()
  endforeach()
endfunction()

file(READ ${PAGE} page)
file(READ ${SCRIPT} script)
file(READ ${STYLE} style)
file(READ ${LICENSES} licenses)
require_absent("${script}" "</script" "<!--" ")viewer\"")
require_absent("${style}" "</style" "<!--" ")viewer\"")
require_absent("${licenses}" "<" ")viewer\"")
hash_of(${SCRIPT} script_hash)
hash_of(${STYLE} style_hash)
foreach(place IN ITEMS text json)
  string(REPLACE "{{${place}}}" ")viewer\", R\"viewer(" page "${page}")
endforeach()
string(REPLACE "{{script hash}}" "${script_hash}" page "${page}")
string(REPLACE "{{style hash}}" "${style_hash}" page "${page}")
foreach(part IN ITEMS style licenses script)
  string(REPLACE "{{${part}}}" "${${part}}" page "${page}")
endforeach()
file(WRITE ${OUTPUT} "#include \"cli/render/html_page.hpp\"

namespace ulpscope::cli {

const HtmlPage& html_page() {
  static constexpr HtmlPage kPage{R\"viewer(${page})viewer\"};
  return kPage;
}

}  // namespace ulpscope::cli
")
