# Writes OUT, a C++ file that holds the text of FILES: dtl::driver::stdlib_files().
set(text "// Generated from stdlib/.\n#include \"compiler/driver/stdlib.h\"\n\nnamespace dtl::driver {\n\nconst std::vector<StdlibFile>& stdlib_files() {\n  static const std::vector<StdlibFile> files = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "      {\"${name}\", R\"__dtl__(${content})__dtl__\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace dtl::driver\n")
file(WRITE ${OUT} "${text}")
