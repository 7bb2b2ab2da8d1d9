# Writes OUTPUT: C++ that defines cause_pages() with the Markdown files of FOLDER, in the order of CAUSES.
set(entries "")
foreach(cause IN LISTS CAUSES)
  file(READ ${FOLDER}/${cause}.md text)
  string(APPEND entries "    {\"${cause}\", R\"page(${text})page\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"cli/explain/cause_pages.hpp\"

#include <array>

namespace ulpscope::cli {

std::span<const CausePage> cause_pages() {
  static constexpr auto kPages = std::to_array<CausePage>({
${entries}  });
  return kPages;
}

}  // namespace ulpscope::cli
")
