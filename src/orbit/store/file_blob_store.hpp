// Blobs as files.
//
//   blobs/                     0700
//     sha256/ab/abcdef…        0600, content of that SHA-256; a name appears only when the content is whole and on disk
//     tmp/<random>/            what one process is writing; locked by it, removed by the next that opens the store
//     after its death
//
// All blobs are files, also small ones: one place, one way to read, verify and back them up. Small ones in the
// database's own transaction would save an fsync each; that is worth a second place only once it is measured to matter.
#pragma once

#include <filesystem>
#include <memory>

#include "orbit/ports/blob_store.hpp"

namespace orbit::store {

// Several may be open on one root. Thread-safe.
Result<std::unique_ptr<BlobStore>> open_file_blob_store(const std::filesystem::path& root);

}  // namespace orbit::store
