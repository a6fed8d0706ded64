# Writes OUT, a C++ file that holds the texts of FILES: dtl::driver::FUNCTION().
set(text "// Generated.\n#include \"compiler/driver/embedded.h\"\n\nnamespace dtl::driver {\n\nconst std::vector<EmbeddedFile>& ${FUNCTION}() {\n  static const std::vector<EmbeddedFile> files = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "      {\"${name}\", R\"__dtl__(${content})__dtl__\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace dtl::driver\n")
file(WRITE ${OUT} "${text}")
