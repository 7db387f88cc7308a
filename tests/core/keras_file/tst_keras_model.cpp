// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/keras_file/keras_model.h"

#include <QTemporaryDir>
#include <QtTest>

#include <hdf5.h>
#include <zip.h>

#include <cstring>

using namespace lockstep;
using namespace lockstep::keras_file;
using archive::Array;
using archive::ElementType;

namespace {

Array arrayOf(const std::string& name, std::vector<std::int64_t> shape, float first) {
    Array array{name, ElementType::Float32, std::move(shape), {}};
    std::size_t count = 1;
    for (const std::int64_t dim : array.shape)
        count *= static_cast<std::size_t>(dim);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = first + static_cast<float>(i);
    array.bytes.resize(count * sizeof(float));
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    return array;
}

/// Dense 3 -> 2, Dropout, Dense 2 -> 1, as Keras 2 might have written it.
archive::Archive someArchive() {
    archive::Archive archive;
    archive.metadata = {
        {"keras_model",
         R"({"class_name":"Sequential","keras_version":"2.15.0","config":{"name":"net","layers":[
            {"class_name":"Dense","config":{"batch_input_shape":[null,3],"units":2,
             "activation":"relu","kernel_regularizer":null,"quantization_config":null,
             "kernel_initializer":{"class_name":"GlorotUniform","config":{"seed":null,
             "input_axes":[0]}}}},
            {"class_name":"Dropout","config":{"name":"dr","rate":0.5}},
            {"class_name":"Dense","config":{"units":1}}]}})"},
        {"keras_compile", R"({"optimizer":"adam","loss":"mse","metrics":["mae"]})"},
        {"layers", R"(["dense","dr","dense_1"])"},
        {"input_shape", "[3]"}};
    archive.arrays = {arrayOf("dense/kernel", {3, 2}, 10), arrayOf("dense/bias", {2}, 20),
                      arrayOf("dense_1/kernel", {2, 1}, 30), arrayOf("dense_1/bias", {1}, 40)};
    archive.metadata.emplace_back("optimizer",
                                  R"({"name":"Adam","iterations":7,"learning_rate":0.002})");
    float first = 100;
    for (const char* slot : {"momentum", "velocity"})
        for (const auto& [name, shape] :
             {std::pair("dense/kernel", std::vector<std::int64_t>{3, 2}),
              std::pair("dense/bias", std::vector<std::int64_t>{2}),
              std::pair("dense_1/kernel", std::vector<std::int64_t>{2, 1}),
              std::pair("dense_1/bias", std::vector<std::int64_t>{1})})
            archive.arrays.push_back(
                arrayOf(std::string("optimizer/") + slot + '/' + name, shape, first += 10));
    return archive;
}

/// Floats of an array in an HDF5 file, with its shape in front.
std::vector<float> floatsAt(const std::string& file, const std::string& path) {
    std::vector<float> all;
    const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(id, path.c_str(), H5P_DEFAULT);
    if (set >= 0) {
        const hid_t space = H5Dget_space(set);
        hsize_t dims[4] = {};
        const int rank = H5Sget_simple_extent_dims(space, dims, nullptr);
        std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
        H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        for (int i = 0; i < rank; ++i)
            all.push_back(static_cast<float>(dims[i]));
        all.insert(all.end(), values.begin(), values.end());
        H5Sclose(space);
        H5Dclose(set);
    }
    H5Fclose(id);
    return all;
}

bool hasGroup(const std::string& file, const std::string& path) {
    const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t group = H5Gopen2(id, path.c_str(), H5P_DEFAULT);
    if (group >= 0)
        H5Gclose(group);
    H5Fclose(id);
    return group >= 0;
}

struct Member {
    QByteArray name;
    QByteArray bytes;
    bool isStored = false;
};

QList<Member> membersOf(const std::string& path) {
    QList<Member> members;
    int error = 0;
    zip_t* const archive = zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &error);
    if (!archive)
        return members;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
        zip_stat_t facts;
        const auto place = static_cast<zip_uint64_t>(i);
        zip_stat_index(archive, place, 0, &facts);
        QByteArray bytes(static_cast<qsizetype>(facts.size), '\0');
        zip_file_t* const member = zip_fopen_index(archive, place, 0);
        zip_fread(member, bytes.data(), facts.size);
        zip_fclose(member);
        members += {QByteArray(facts.name), bytes, facts.comp_method == ZIP_CM_STORE};
    }
    zip_discard(archive);
    return members;
}

} // namespace

class TestKerasModel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

    void givesEachLayerItsArrays() {
        const auto model = modelOf(someArchive());
        QVERIFY2(model.ok(), model.ok() ? "" : describe(model.error()).c_str());
        QCOMPARE(model->layers.size(), std::size_t{4});
        QCOMPARE(model->layers[0].className, std::string("InputLayer"));
        QCOMPARE(model->layers[1].variables.size(), std::size_t{2});
        QCOMPARE(model->layers[1].variables[1].name, std::string("bias"));
        QVERIFY(model->layers[2].variables.empty());
        QCOMPARE(model->layers[3].name, std::string("dense_1"));
    }

    void namesPathsByTheClass() {
        archive::Archive archive = someArchive();
        archive.metadata[0].second =
            R"({"class_name":"Sequential","config":[{"class_name":"PReLU","config":{}},
            {"class_name":"MaxPooling2D","config":{}},{"class_name":"LSTM","config":{}},
            {"class_name":"PReLU","config":{}}]})";
        archive.metadata[2].second = R"(["a","b","c","d"])";
        archive.arrays.clear();
        const std::string file = path("names.weights.h5");
        QVERIFY(write(*modelOf(std::move(archive)), Format::WeightsH5, file));
        for (const char* name : {"p_re_lu", "max_pooling2d", "lstm", "p_re_lu_1"})
            QVERIFY2(hasGroup(file, std::string("/layers/") + name + "/vars"), name);
    }

    void writesWeightsWhereKerasLooksForThem() {
        const std::string file = path("model.weights.h5");
        QVERIFY(write(*modelOf(someArchive()), Format::WeightsH5, file));
        QCOMPARE(floatsAt(file, "/layers/dense/vars/0"),
                 (std::vector<float>{3, 2, 10, 11, 12, 13, 14, 15}));
        QCOMPARE(floatsAt(file, "/layers/dense/vars/1"), (std::vector<float>{2, 20, 21}));
        QCOMPARE(floatsAt(file, "/layers/dense_1/vars/0"), (std::vector<float>{2, 1, 30, 31}));
        // Keras up to 3.5 wants these, too.
        QVERIFY(hasGroup(file, "/vars") && hasGroup(file, "/layers/dropout/vars"));
        QVERIFY(!hasGroup(file, "/layers/input_layer"));
    }

    void writesTheOptimizerInKerasOrder() {
        const std::string file = path("model.weights.h5");
        QVERIFY(write(*modelOf(someArchive()), Format::WeightsH5, file));
        QCOMPARE(floatsAt(file, "/optimizer/vars/0"), std::vector<float>{7});
        QCOMPARE(floatsAt(file, "/optimizer/vars/1"), std::vector<float>{0.002f});
        // Momentum and velocity of a variable stand together.
        QCOMPARE(floatsAt(file, "/optimizer/vars/2").at(2), 110.0f);
        QCOMPARE(floatsAt(file, "/optimizer/vars/3").at(2), 150.0f);
        QCOMPARE(floatsAt(file, "/optimizer/vars/4"), (std::vector<float>{2, 120, 121}));
        QCOMPARE(floatsAt(file, "/optimizer/vars/9"), (std::vector<float>{1, 180}));
        QVERIFY(floatsAt(file, "/optimizer/vars/10").empty());
        // Kinds in blocks, for any other.
        archive::Archive archive = someArchive();
        archive.metadata.back().second = R"({"name":"SGD","iterations":7,"learning_rate":0.002})";
        QVERIFY(write(*modelOf(std::move(archive)), Format::WeightsH5, file));
        QCOMPARE(floatsAt(file, "/optimizer/vars/3"), (std::vector<float>{2, 120, 121}));
    }

    void writesAnArchiveOfThreeStoredMembers() {
        const std::string file = path("model.keras");
        QVERIFY(write(*modelOf(someArchive()), Format::Keras, file));
        const QList<Member> members = membersOf(file);
        QCOMPARE(members.size(), 3);
        QCOMPARE(members[0].name, QByteArray("metadata.json"));
        QCOMPARE(members[2].name, QByteArray("model.weights.h5"));
        for (const Member& member : members)
            QVERIFY(member.isStored);
        const auto config = json::parse(members[1].bytes.toStdString(), "config.json");
        QVERIFY(config.ok());
        QCOMPARE(config->find("compile_config")->find("loss")->toString(), std::string("mse"));
        const auto& layers = config->find("config")->find("layers")->items();
        QCOMPARE(json::dump(*layers[0].find("config")->find("batch_shape")),
                 std::string("[null,3]"));
        // What older Keras does not know is not there; names are, where the user gave none.
        const json::Value& dense = *layers[1].find("config");
        QVERIFY(!dense.contains("batch_input_shape") && !dense.contains("quantization_config"));
        QVERIFY(!dense.find("kernel_initializer")->find("config")->contains("input_axes"));
        QCOMPARE(dense.find("name")->toString(), std::string("dense"));
        // The weights inside are those of the other file.
        const std::string inner = path("inner.h5");
        QVERIFY(files::writeAtomic(inner, members[2].bytes.toStdString()));
        QCOMPARE(floatsAt(inner, "/layers/dense_1/vars/1"), (std::vector<float>{1, 40}));
    }

    void writesTheOlderForm() {
        const std::string file = path("model.h5");
        QVERIFY(write(*modelOf(someArchive()), Format::LegacyH5, file));
        QCOMPARE(floatsAt(file, "/model_weights/dense/dense/bias:0"),
                 (std::vector<float>{2, 20, 21}));
        QVERIFY(hasGroup(file, "/model_weights/dr"));
        QVERIFY(hasGroup(file, "/model_weights/top_level_model_weights"));
    }

    void writesTheSameWeightsEachTime() {
        const auto model = modelOf(someArchive());
        QVERIFY(write(*model, Format::WeightsH5, path("a.h5")));
        QVERIFY(write(*model, Format::WeightsH5, path("b.h5")));
        QVERIFY(*files::read(path("a.h5")) == *files::read(path("b.h5")));
    }

    void refusesWhatDoesNotFit_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("words");
        QTest::newRow("no configuration") << "keras_model"
                                          << "older Lockstep";
        QTest::newRow("no names") << "layers"
                                  << "names";
        QTest::newRow("no shape") << "input_shape"
                                  << "shape";
        QTest::newRow("array of nobody") << "array"
                                         << "belongs to no layer";
        QTest::newRow("functional") << "class"
                                    << "cannot be written for Keras yet";
    }
    void refusesWhatDoesNotFit() {
        QFETCH(QString, fault);
        QFETCH(QString, words);
        archive::Archive archive = someArchive();
        std::erase_if(archive.metadata,
                      [&](const auto& entry) { return entry.first == fault.toStdString(); });
        if (fault == QStringLiteral("array"))
            archive.arrays.push_back(arrayOf("other/kernel", {1}, 0));
        if (fault == QStringLiteral("class"))
            archive.metadata[0].second = R"({"class_name":"Functional","config":{}})";
        const auto model = modelOf(std::move(archive));
        QVERIFY(!model.ok());
        QVERIFY2(model.error().message.find(words.toStdString()) != std::string::npos,
                 model.error().message.c_str());
    }

    void saysWhereAFileCannotBeWritten() {
        const Status status = write(*modelOf(someArchive()), Format::Keras, "/proc/none/x.keras");
        QVERIFY(!status.ok());
    }

private:
    std::string path(const char* name) const {
        return m_folder.filePath(QString::fromLatin1(name)).toStdString();
    }
    QTemporaryDir m_folder;
};

QTEST_APPLESS_MAIN(TestKerasModel)
#include "tst_keras_model.moc"
