// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/keras_file/detail/zip_file.h"

#include "core/base/failure.h"

#include <zip.h>

#include <memory>

namespace lockstep::keras_file::detail {

namespace {

[[noreturn]] void fail(zip_error_t* error) {
    const std::string words = zip_error_strerror(error);
    throw Failure(Code::Internal, "The zip archive cannot be written: " + words + ".", {});
}

} // namespace

std::string zipOf(const std::vector<std::pair<std::string, std::string>>& members) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = zip_source_buffer_create(nullptr, 0, 0, &error);
    if (!source)
        fail(&error);
    zip_source_keep(source); // to read it when the archive is closed
    const std::unique_ptr<zip_source_t, void (*)(zip_source_t*)> kept(source, zip_source_free);
    std::unique_ptr<zip_t, void (*)(zip_t*)> archive(
        zip_open_from_source(source, ZIP_TRUNCATE, &error), zip_discard);
    if (!archive) {
        zip_source_free(source);
        fail(&error);
    }
    for (const auto& [name, bytes] : members) {
        zip_source_t* const member =
            zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
        const zip_int64_t place =
            member ? zip_file_add(archive.get(), name.c_str(), member, ZIP_FL_ENC_UTF_8) : -1;
        if (place < 0) {
            zip_source_free(member);
            fail(zip_get_error(archive.get()));
        }
        if (zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(place), ZIP_CM_STORE,
                                     0) != 0)
            fail(zip_get_error(archive.get()));
    }
    if (zip_close(archive.get()) != 0)
        fail(zip_get_error(archive.get()));
    (void)archive.release(); // zip_close() has freed it
    zip_stat_t facts;
    if (zip_source_open(source) != 0 || zip_source_stat(source, &facts) != 0)
        fail(zip_source_error(source));
    std::string bytes(facts.size, '\0');
    const zip_int64_t got = zip_source_read(source, bytes.data(), bytes.size());
    zip_source_close(source);
    if (got != static_cast<zip_int64_t>(bytes.size()))
        fail(zip_source_error(source));
    return bytes;
}

} // namespace lockstep::keras_file::detail
