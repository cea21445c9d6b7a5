// Request targets, decoded once and only here (X4). What comes out holds no "." or "..", no empty segment, no NUL or
// other control character, no backslash and only valid UTF-8, whatever encoding it came in.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit::net {

struct Target {
  // Decoded. An encoded slash is data of its segment, never a separator; the parts it makes are checked like segments,
  // so that joining a segment to a directory cannot climb.
  std::vector<std::string> segments;
  // "/" + segments joined with "/"; a slash inside a segment is written %2F here, so that the text has one reading.
  std::string path;
  std::multimap<std::string, std::string> query;
};

// Origin form ("/a/b?c=d") or absolute form ("http://host/a/b"), of which the host is ignored.
Result<Target> parse_target(std::string_view target);

Result<std::vector<std::string>> decode_path(std::string_view path);
Result<std::multimap<std::string, std::string>> decode_query(std::string_view query);

}  // namespace orbit::net
