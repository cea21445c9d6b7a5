// Small things about text that everybody needs once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit {

bool is_valid_utf8(std::string_view text);
// Invalid sequences become U+FFFD, so that the text can stand in JSON.
std::string to_valid_utf8(std::string_view text);

// Names people give (projects, runs, templates, secrets): 1..63 of a-z 0-9 . _ -, beginning with a letter or digit.
Result<void> check_name(std::string_view name, std::string_view field);

// The candidate nearest by edit distance, empty if none is near enough to be a likely typo.
std::string nearest(std::string_view wanted, const std::vector<std::string>& candidates);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

// "1024", "20GiB", "1.5 GB", "512MiB" -> bytes. KiB.. are powers of 1024, KB.. powers of 1000.
Result<std::int64_t> parse_bytes(std::string_view text);
// 21474836480 -> "20.0 GiB"
std::string human_bytes(std::int64_t bytes);

// "1 file", "2 files", "2 processes": of a noun whose plural ends with s or, behind another s, with es.
std::string counted(std::int64_t count, std::string_view thing);

// For a POSIX shell: safe as one word whatever it holds.
std::string shell_quote(std::string_view word);

}  // namespace orbit
