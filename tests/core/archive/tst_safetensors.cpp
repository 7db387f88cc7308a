// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/archive/safetensors.h"
#include "core/base/files.h"
#include "core/base/hash.h"

#include <QTemporaryDir>
#include <QTest>

#include <cstring>

using namespace lockstep;
using namespace lockstep::archive;

namespace {

ArrayView viewOf(const char* name, const std::vector<float>& values,
                 std::vector<std::int64_t> shape) {
    return {name, ElementType::Float32, std::move(shape), std::as_bytes(std::span(values))};
}

std::string fileOf(const std::string& header, const std::string& data) {
    const std::uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

} // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::string path(const char* name) const {
        return m_folder.filePath(QLatin1String(name)).toStdString();
    }

private Q_SLOTS:
    void readsBackWhatWasWritten() {
        const std::vector<float> kernel{1, 2, 3, 4, 5, 6};
        const std::vector<float> bias{-1, 0.5F};
        const std::vector<ArrayView> arrays{viewOf("d1/kernel", kernel, {3, 2}),
                                            viewOf("d1/bias", bias, {2})};
        const auto written =
            write(path("a.safetensors"), arrays, {{"format", "lockstep"}, {"note", "it's \"q\""}});
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());

        const auto bytes = files::read(path("a.safetensors"));
        QVERIFY(bytes.ok());
        QCOMPARE(written->bytes, static_cast<std::int64_t>(bytes->size()));
        QCOMPARE(written->sha256, toHex(sha256(*bytes)));

        const auto archive = read(path("a.safetensors"));
        QVERIFY(archive.ok());
        QCOMPARE(archive->metadata, (Metadata{{"format", "lockstep"}, {"note", "it's \"q\""}}));
        QCOMPARE(archive->arrays.size(), std::size_t{2});
        QCOMPARE(archive->arrays[0].name, std::string("d1/kernel"));
        QCOMPARE(archive->arrays[0].shape, (std::vector<std::int64_t>{3, 2}));
        QCOMPARE(std::memcmp(archive->arrays[0].bytes.data(), kernel.data(), 24), 0);
        QCOMPARE(std::memcmp(archive->arrays[1].bytes.data(), bias.data(), 8), 0);
    }

    void startsDataAtAMultipleOfEight() {
        const std::vector<float> one{1};
        for (const char* name : {"a", "ab", "abc", "abcdefgh"}) {
            const std::vector<ArrayView> arrays{viewOf(name, one, {})};
            QVERIFY(write(path("aligned"), arrays, {}).ok());
            QCOMPARE((files::read(path("aligned"))->size() - 4) % 8, std::size_t{0});
        }
    }

    void refusesArraysThatDoNotFitTheirShape() {
        const std::vector<float> three{1, 2, 3};
        const std::vector<ArrayView> arrays{viewOf("x", three, {2, 2})};
        const auto written = write(path("bad"), arrays, {});
        QVERIFY(!written.ok());
        QCOMPARE(written.error().code, Code::InvalidArgument);
        QVERIFY(!files::read(path("bad")).ok());
    }

    void refusesAFileThatIsCutAtAnyByte() {
        const std::vector<float> values{1, 2};
        const std::vector<ArrayView> arrays{viewOf("x", values, {2})};
        QVERIFY(write(path("whole"), arrays, {}).ok());
        const std::string whole = *files::read(path("whole"));
        for (std::size_t length = 0; length < whole.size(); ++length) {
            QVERIFY(
                files::writeAtomic(path("cut"), whole.substr(0, length), files::Durability::Renamed)
                    .ok());
            const auto archive = read(path("cut"));
            QVERIFY2(!archive.ok(), std::to_string(length).c_str());
            QCOMPARE(archive.error().code, Code::Corrupt);
        }
    }

    void refusesOverlapsGapsAndForeignBytes_data() {
        QTest::addColumn<QByteArray>("header");
        const auto entry = [](const char* a, const char* b) {
            return QByteArray(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)") + a +
                   R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}";
        };
        QTest::newRow("the arrays overlap") << entry("[0,4]", "[2,6]");
        QTest::newRow("a gap lies between them") << entry("[0,4]", "[5,9]");
        QTest::newRow("bytes belong to nobody") << entry("[0,4]", "[4,8]");
        QTest::newRow("an offset lies outside") << entry("[0,4]", "[400,404]");
        QTest::newRow("the shape overflows") << QByteArray(
            R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})");
        QTest::newRow("a dimension is negative")
            << QByteArray(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,12]}})");
        QTest::newRow("the header is no object") << QByteArray("[]");
    }

    void refusesOverlapsGapsAndForeignBytes() {
        QFETCH(QByteArray, header);
        QVERIFY(files::writeAtomic(path("forged"),
                                   fileOf(header.toStdString(), std::string(12, 'x')),
                                   files::Durability::Renamed)
                    .ok());
        const auto archive = read(path("forged"));
        QVERIFY(!archive.ok());
        QCOMPARE(archive.error().code, Code::Corrupt);
        QCOMPARE(archive.error().where, path("forged"));
    }
};

QTEST_APPLESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
