// Names of files are bytes that anybody may choose. Printed raw, they can rewrite a terminal, forge
// lines or turn text around; everything that is printed for people goes through here.

#ifndef ONEFOLD_COMMON_ESCAPE_H_
#define ONEFOLD_COMMON_ESCAPE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onefold {

// `bytes` for a terminal or a log, on one line:
//
//   \n \t \r \\        newline, tab, carriage return, backslash
//   \xNN               other control bytes, and bytes that are not UTF-8
//   \u{N}              characters that steer or hide text: C1 controls, line and paragraph
//   separator,
//                      direction marks, zero-width and tag characters
//
// All other UTF-8 stays as it is. No two inputs give the same output.
std::string Escape(absl::string_view bytes);

// The same for texts of our own that may quote raw bytes (messages of errors): backslashes stay.
std::string EscapeText(absl::string_view text);

bool IsUtf8(absl::string_view bytes);

// `bytes` with U+FFFD for each byte that is not UTF-8. For formats that must be UTF-8.
std::string ReplaceNonUtf8(absl::string_view bytes);

// How many columns of a terminal `text` takes, which Escape made. Counts wide characters (East
// Asian, emoji) as two and, on the safe side, combining ones as one.
int ColumnCount(absl::string_view text);

// `text`, which Escape made, shortened in the middle ("/srv/…/file") to at most `column_max`
// columns.
std::string Shorten(absl::string_view text, int column_max);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_ESCAPE_H_
