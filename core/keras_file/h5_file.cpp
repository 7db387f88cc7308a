// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/keras_file/detail/h5_file.h"

#include "core/base/failure.h"

#include <algorithm>
#include <cstddef>

namespace lockstep::keras_file::detail {

namespace {

constexpr std::size_t kGrowBy = 1 << 20;
/// A longer attribute does not fit into an object's header and is split over several. Source:
/// HDF5_OBJECT_HEADER_LIMIT in keras/src/legacy/saving/legacy_h5_format.py.
constexpr std::size_t kLongestAttribute = 64512;

[[noreturn]] void fail(const char* what) {
    std::string words;
    const auto take = [](unsigned, const H5E_error2_t* error, void* into) -> herr_t {
        auto& text = *static_cast<std::string*>(into);
        if (error->desc && text.empty())
            text = error->desc;
        return 0;
    };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &words);
    throw Failure(Code::Internal, std::string("HDF5 refused ") + what + ": " + words + ".", {});
}

void check(herr_t status, const char* what) {
    if (status < 0)
        fail(what);
}

hid_t makeFile() {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); // errors are ours to tell
    const H5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "a file's properties");
    check(H5Pset_fapl_core(access.get(), kGrowBy, false), "a file in memory");
    return H5Fcreate("model.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get());
}

H5Handle stringType(std::size_t size) {
    H5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "a type");
    check(H5Tset_size(type.get(), std::max<std::size_t>(size, 1)), "a size");
    check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "a padding");
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "a character set");
    return type;
}

void writeAttribute(hid_t object, const std::string& name, hid_t type, hid_t space,
                    const void* bytes) {
    const H5Handle attribute(
        H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
        "an attribute");
    check(H5Awrite(attribute.get(), type, bytes), "an attribute's value");
}

} // namespace

H5Handle::H5Handle(hid_t id, Close close, const char* what)
    : m_id(id)
    , m_close(close) {
    if (id < 0)
        fail(what);
}

H5Handle::~H5Handle() {
    if (m_id >= 0)
        m_close(m_id);
}

H5File::H5File()
    : m_file(makeFile(), H5Fclose, "a file") {}

void H5File::makeGroup(const std::string& path) {
    for (std::size_t at = 1; at != std::string::npos && at <= path.size();) {
        const std::size_t end = path.find('/', at);
        const std::string part = path.substr(0, end);
        if (part.size() > 1 && H5Lexists(m_file.get(), part.c_str(), H5P_DEFAULT) <= 0)
            H5Handle(H5Gcreate2(m_file.get(), part.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Gclose, "a group");
        at = end == std::string::npos ? end : end + 1;
    }
}

void H5File::write(const std::string& path, hid_t fileType, hid_t type,
                   const std::vector<std::int64_t>& shape, const void* values) {
    makeGroup(path.substr(0, path.rfind('/')));
    const std::vector<hsize_t> dims(shape.begin(), shape.end());
    const H5Handle space(
        dims.empty() ? H5Screate(H5S_SCALAR)
                     : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
        H5Sclose, "a shape");
    const H5Handle set(H5Dcreate2(m_file.get(), path.c_str(), fileType, space.get(), H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT),
                       H5Dclose, "an array");
    check(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "an array's values");
}

void H5File::writeFloats(const std::string& path, const std::vector<std::int64_t>& shape,
                         std::span<const std::byte> bytes) {
    write(path, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, shape, bytes.data());
}

void H5File::writeInteger(const std::string& path, std::int64_t value) {
    write(path, H5T_STD_I64LE, H5T_NATIVE_INT64, {}, &value);
}

void H5File::setText(const std::string& path, const char* name, const std::string& value) {
    // One text of any length, as h5py writes it.
    const H5Handle object(H5Oopen(m_file.get(), path.c_str(), H5P_DEFAULT), H5Oclose, "an object");
    const H5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "a type");
    check(H5Tset_size(type.get(), H5T_VARIABLE), "a size");
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "a character set");
    const H5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "a shape");
    const char* const text = value.c_str();
    writeAttribute(object.get(), name, type.get(), space.get(), &text);
}

void H5File::setTexts(const std::string& path, const char* name,
                      const std::vector<std::string>& values) {
    const H5Handle object(H5Oopen(m_file.get(), path.c_str(), H5P_DEFAULT), H5Oclose, "an object");
    std::size_t width = 1;
    for (const std::string& value : values)
        width = std::max(width, value.size());
    const std::size_t perPart = std::max<std::size_t>(kLongestAttribute / width, 1);
    const bool isSplit = values.size() > perPart;
    const H5Handle type = stringType(width);
    for (std::size_t first = 0, part = 0; first < values.size() || part == 0; ++part) {
        const std::size_t count = std::min(perPart, values.size() - first);
        std::string cells(count * width, '\0');
        for (std::size_t i = 0; i < count; ++i)
            values[first + i].copy(cells.data() + i * width, width);
        const hsize_t dims[] = {count};
        const H5Handle space(H5Screate_simple(1, dims, nullptr), H5Sclose, "a shape");
        writeAttribute(object.get(), isSplit ? name + std::to_string(part) : name, type.get(),
                       space.get(), cells.data());
        first += count;
    }
}

std::string H5File::image() {
    check(H5Fflush(m_file.get(), H5F_SCOPE_GLOBAL), "the file's end");
    const ssize_t size = H5Fget_file_image(m_file.get(), nullptr, 0);
    if (size < 0)
        fail("the file's size");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (H5Fget_file_image(m_file.get(), bytes.data(), bytes.size()) != size)
        fail("the file's bytes");
    return bytes;
}

} // namespace lockstep::keras_file::detail
