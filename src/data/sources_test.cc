// The formats that a data set may come in, each from a folder or file as its users have it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "base/files.h"
#include "data/csv.h"
#include "data/zip.h"
#include "testing/data_folder.h"

namespace pantoum::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kTestdata = PANTOUM_SOURCE_DIR "/src/data/testdata/";

class Sources : public DataFolder {
 protected:
  Wanted wanted{{{"image", base::DType::kF32, {2, 3}}}, {"label", base::DType::kI64, {}}};
  DataOptions options;

  void SetUp() override {
    DataFolder::SetUp();
    options.cache_folder = cache();
  }
  std::string put_below(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    return put(name, bytes);
  }
  Result<TrainTest> open(const std::string& place = "") const { return open_data(path(place), wanted, options); }
  // Code, message and notes of the refusal.
  std::string refusal(const std::string& place = "") const {
    const auto data = open(place);
    return data ? "accepted" : to_text(data.error());
  }
  static std::string picture(const std::string& name) { return base::read_file(kTestdata + name).value(); }
};

template <class T>
std::vector<T> numbers(const SampleFile& samples, int64_t index) {
  const std::string bytes = sample(samples, index);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// ---- NPZ -----------------------------------------------------------------------------------------------------------

TEST_F(Sources, StoredNpzIsReadInPlace) {
  std::filesystem::copy(kTestdata + "stored.npz", path("data.npz"));
  const auto data = open("data.npz");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.format, "NPZ");
  EXPECT_EQ(data->train.count(), 4);
  EXPECT_THAT(numbers<float>(*data->train.inputs.at(0), 2), ElementsAre(12, 13, 14, 15, 16, 17));
  EXPECT_THAT(numbers<int64_t>(*data->train.labels, 3), ElementsAre(3));
  EXPECT_THAT(numbers<float>(*data->test.inputs.at(0), 0), ElementsAre(100, 101, 102, 103, 104, 105));
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(Sources, CompressedNpzIsUnpackedOnce) {
  std::filesystem::copy(kTestdata + "deflated.npz", path("data.npz"));
  for (int time = 0; time < 2; ++time) {
    const auto data = open("data.npz");
    ASSERT_TRUE(data) << to_text(data.error());
    EXPECT_THAT(numbers<float>(*data->train.inputs.at(0), 3), ElementsAre(18, 19, 20, 21, 22, 23));
    EXPECT_EQ(data->test.count(), 0);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(cache()), {}), 2);
  }
}

TEST_F(Sources, NpzThatIsDamagedIsRefused) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string whole = picture(name);
    for (size_t at = 0; at < whole.size(); at += 3) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ 0x15);
      put("broken.npz", broken);
      const auto data = open("broken.npz");
      if (!data) {
        EXPECT_THAT(data.error().code, ::testing::AnyOf("E0261", "E0262")) << at;
      }
      std::filesystem::remove_all(cache());
    }
    put("cut.npz", whole.substr(0, whole.size() - 30));
    EXPECT_THAT(refusal("cut.npz"), HasSubstr("E0261"));
  }
}

TEST_F(Sources, CompressedNpzIsHeldToItsChecksum) {
  std::string whole = picture("deflated.npz");
  const size_t entry = whole.find("PK\1\2");
  whole[entry + 16] = static_cast<char>(whole[entry + 16] ^ 1);
  put("data.npz", whole);
  EXPECT_THAT(refusal("data.npz"), HasSubstr("the compressed data are damaged"));
}

TEST_F(Sources, StoredNpzIsHeldToItsChecksum) {
  std::string whole = picture("stored.npz");
  whole[whole.find("PK\x01\x02") - 1] ^= 1;  // the last byte of the last array's data
  put("data.npz", whole);
  EXPECT_THAT(refusal("data.npz"), HasSubstr("its checksum is another"));
}

TEST_F(Sources, NpzWithoutLabelsSaysWhichArraysItLacks) {
  wanted.inputs[0].name = "z";
  std::filesystem::copy(kTestdata + "deflated.npz", path("data.npz"));
  wanted.inputs.push_back({"second", base::DType::kF32, {1}});
  EXPECT_THAT(refusal("data.npz"), HasSubstr("E0262"));
  EXPECT_THAT(refusal("data.npz"), HasSubstr("z_train and second_train"));
}

// ---- Several inputs, raw --------------------------------------------------------------------------------------------

TEST_F(Sources, RawFilesHaveTheModelsShapeAndTheirEndingsType) {
  put("image_train.u8", "abcdefghijkl");
  put("y_train.i32", std::string("\1\0\0\0\2\0\0\0", 8));
  const auto data = open();
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.format, "raw");
  EXPECT_EQ(sample(*data->train.inputs.at(0), 1), "ghijkl");
  EXPECT_EQ(data->train.inputs.at(0)->sample_shape(), (base::Shape{2, 3}));
  EXPECT_THAT(numbers<int32_t>(*data->train.labels, 1), ElementsAre(2));
  put("image_train.u8", "abcdefghijk");
  EXPECT_THAT(refusal(), HasSubstr("no whole number of samples of u8[2,3] (6 bytes each)"));
}

TEST_F(Sources, EachInputHasAnArrayOfItsName) {
  wanted.inputs = {{"user", base::DType::kI64, {}}, {"item", base::DType::kI64, {}}};
  put("user_train.u8", "\1\2");
  put("item_train.u8", "\3\4");
  put("y_train.u8", "\1");
  EXPECT_THAT(refusal(), HasSubstr("there are 2 samples but 1 labels"));
  put("y_train.u8", "\1\2");
  const auto data = open();
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(sample(*data->train.inputs.at(0), 1), "\2");
  EXPECT_EQ(sample(*data->train.inputs.at(1), 1), "\4");
  std::filesystem::remove(path("item_train.u8"));
  EXPECT_THAT(refusal(), HasSubstr("the data lack item_train.TYPE"));
}

// ---- CIFAR-10 -------------------------------------------------------------------------------------------------------

std::string cifar_record(char label, char pixel) {
  return label + std::string(3072, pixel);
}

TEST_F(Sources, CifarsBatchesAreJoinedInOrder) {
  for (const std::string& folder : {std::string(), std::string("cifar-10-batches-bin/")}) {
    put_below(folder + "data_batch_2.bin", cifar_record(5, 'c'));
    put_below(folder + "data_batch_1.bin", cifar_record(3, 'a') + cifar_record(4, 'b'));
    put_below(folder + "test_batch.bin", cifar_record(9, 'd'));
    const auto data = open();
    ASSERT_TRUE(data) << to_text(data.error());
    EXPECT_EQ(data->train.format, "CIFAR-10");
    EXPECT_EQ(data->train.count(), 3);
    EXPECT_EQ(data->train.inputs.at(0)->sample_shape(), (base::Shape{3, 32, 32}));
    EXPECT_EQ(sample(*data->train.inputs.at(0), 2), std::string(3072, 'c'));
    EXPECT_EQ(sample(*data->train.labels, 1), "\4");
    EXPECT_EQ(sample(*data->train.labels, 3), "E0260");
    EXPECT_EQ(sample(*data->test.labels, 0), "\t");
    for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"})
      std::filesystem::remove(path(folder + name));
  }
  put("data_batch_1.bin", cifar_record(3, 'a') + "x");
  EXPECT_THAT(refusal(), HasSubstr("3074 bytes, which are no whole number of CIFAR-10's records of 3073"));
}

// ---- CSV ------------------------------------------------------------------------------------------------------------

class Csv : public Sources {
 protected:
  void SetUp() override {
    Sources::SetUp();
    wanted.inputs[0].shape = {2};
  }
};

TEST_F(Csv, TheLastColumnIsTheLabel) {
  put("train.csv", "1,2.5,0\n-3e2, +4 ,7\r\n\n");
  put("test.csv", "5,6,1");
  const auto data = open();
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.format, "CSV");
  EXPECT_EQ(data->train.count(), 2);
  EXPECT_THAT(numbers<float>(*data->train.inputs.at(0), 1), ElementsAre(-300, 4));
  EXPECT_THAT(numbers<int64_t>(*data->train.labels, 1), ElementsAre(7));
  EXPECT_THAT(numbers<float>(*data->test.inputs.at(0), 0), ElementsAre(5, 6));
}

TEST_F(Csv, SoManyColumnsAreRefusedBeforeTheyAreTakenApart) {
  put("data.csv", std::string(1 << 21, ',') + "\n");
  EXPECT_THAT(refusal("data.csv"), HasSubstr("more than 1048576 columns"));
}

TEST_F(Csv, AHeaderNamesTheColumns) {
  put("data.csv", "\xEF\xBB\xBF\"kind\";a;b\n2;\"0.5\";3\n");
  options.label_columns = {"kind"};
  options.test_path = put("more.csv", "kind;a;b\n1;8;9\n");
  const auto data = open("data.csv");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_THAT(numbers<float>(*data->train.inputs.at(0), 0), ElementsAre(0.5, 3));
  EXPECT_THAT(numbers<int64_t>(*data->train.labels, 0), ElementsAre(2));
  EXPECT_THAT(numbers<float>(*data->test.inputs.at(0), 0), ElementsAre(8, 9));
  options.label_columns = {"colour"};
  EXPECT_THAT(refusal("data.csv"), HasSubstr("name one of kind, a, b with --label-column"));
}

TEST_F(Csv, ColumnsGoToTheInputsInTheirOrder) {
  wanted.inputs = {{"user", base::DType::kI64, {}}, {"more", base::DType::kF32, {2}}};
  wanted.label = {"label", base::DType::kF32, {2}};
  put("data.csv", "9,1,0.5,0.25,8\n");
  options.label_columns = {"4", "0"};
  const auto data = open("data.csv");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_THAT(numbers<int64_t>(*data->train.inputs.at(0), 0), ElementsAre(1));
  EXPECT_THAT(numbers<float>(*data->train.inputs.at(1), 0), ElementsAre(0.5, 0.25));
  EXPECT_THAT(numbers<float>(*data->train.labels, 0), ElementsAre(8, 9));
}

TEST_F(Csv, RowsLongerThanAPieceArriveWhole) {
  wanted.inputs[0].shape = {50'000};
  std::string line;
  for (int column = 0; column < 50'000; ++column) line += std::to_string(column) + ",";
  put("data.csv", line + "3\n" + line + "4");
  const auto data = open("data.csv");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(numbers<float>(*data->train.inputs.at(0), 1)[49'999], 49'999);
  EXPECT_THAT(numbers<int64_t>(*data->train.labels, 1), ElementsAre(4));
}

TEST_F(Csv, WhatIsWrongIsToldWithItsLine) {
  const auto refuse = [&](const std::string& text) {
    put("data.csv", text);
    return refusal("data.csv");
  };
  EXPECT_THAT(refuse("1,2,0\n1,,0\n"), HasSubstr("data.csv:2, column 2"));
  EXPECT_THAT(refuse("1,2,0\n1,two,0\n"), HasSubstr("'two' is no finite number"));
  EXPECT_THAT(refuse("1,2,0\n1,nan,0\n"), HasSubstr("'nan' is no finite number"));
  EXPECT_THAT(refuse("1,2,0\n1,1e99,0\n"), HasSubstr("'1e99' is no finite number"));
  EXPECT_THAT(refuse("1,2,0.5\n"), HasSubstr("'0.5' is no whole number"));
  EXPECT_THAT(refuse("1,2,0\n1,2\n"), HasSubstr("line 2 has 2 columns, the first 3"));
  EXPECT_THAT(refuse("1,2,3,0\n"), HasSubstr("3 columns of features and 1 of labels, the model wants 2 and 1"));
  EXPECT_THAT(refuse("a,b,c\n"), HasSubstr("no row of numbers"));
  EXPECT_THAT(refuse(""), HasSubstr("no row of numbers"));
  EXPECT_FALSE(std::filesystem::exists(cache()) && !std::filesystem::is_empty(cache()));
}

TEST_F(Csv, AChangedFileIsReadAgain) {
  put("data.csv", "1,2,0\n");
  ASSERT_TRUE(open("data.csv"));
  put("data.csv", "3,2,0\n4,4,1\n");
  EXPECT_THAT(numbers<float>(*open("data.csv")->train.inputs.at(0), 0), ElementsAre(3, 2));
}

TEST(CsvLine, QuotesHideSeparators) {
  std::vector<std::string_view> fields;
  split_csv_line("a, \"b,c\" ,,d", ',', fields);
  EXPECT_THAT(fields, ElementsAre("a", "b,c", "", "d"));
}

// ---- Image folder ---------------------------------------------------------------------------------------------------

class ImageFolder : public Sources {
 protected:
  void SetUp() override {
    Sources::SetUp();
    wanted.inputs[0].shape = {3, 9, 13};
    put_below("train/dog/one.png", picture("rgb.png"));
    put_below("train/cat/two.JPG", picture("photo.jpg"));
    put_below("train/cat/deeper/three.ppm", picture("rgb.ppm"));
    put_below("train/cat/notes.txt", "no picture");
    put_below("train/.hidden/x.png", "");
  }
};

TEST_F(ImageFolder, FoldersAreClassesInTheOrderOfTheirNames) {
  put_below("val/dog/four.png", picture("rgb.png"));
  const auto data = open();
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.format, "image folder");
  EXPECT_THAT(data->train.classes, ElementsAre("cat", "dog"));
  ASSERT_EQ(data->train.count(), 3);
  EXPECT_THAT(numbers<int32_t>(*data->train.labels, 0), ElementsAre(0));  // cat/deeper/three
  EXPECT_THAT(numbers<int32_t>(*data->train.labels, 2), ElementsAre(1));
  EXPECT_THAT(numbers<int32_t>(*data->test.labels, 0), ElementsAre(1));
  const std::string pixels = picture("rgb.ppm").substr(picture("rgb.ppm").size() - 351),
                    found = sample(*data->train.inputs.at(0), 2);
  for (size_t pixel = 0; pixel < 117; ++pixel)
    for (size_t channel = 0; channel < 3; ++channel)
      ASSERT_EQ(found[channel * 117 + pixel], pixels[pixel * 3 + channel]);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(cache()), {}), 2);
}

TEST_F(ImageFolder, PicturesTakeTheModelsSizeAndChannels) {
  wanted.inputs[0].shape = {4, 5, 3};  // channels last
  const auto data = open();
  ASSERT_TRUE(data) << to_text(data.error());
  const std::string resized = picture("resized_5x4.ppm");
  EXPECT_EQ(sample(*data->train.inputs.at(0), 2), resized.substr(resized.size() - 60));
  wanted.inputs[0].shape = {1, 9, 13};
  const std::string luma = picture("luma.ppm");
  EXPECT_EQ(sample(*open()->train.inputs.at(0), 2), luma.substr(luma.size() - 117));
}

TEST_F(ImageFolder, ClassFoldersMayStandAlone) {
  const auto data = open("train");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.count(), 3);
  EXPECT_EQ(data->test.count(), 0);
}

TEST_F(ImageFolder, RefusesWhatItCannotUse) {
  put_below("test/bird/x.png", picture("rgb.png"));
  EXPECT_THAT(refusal(), HasSubstr("the class 'bird' is not among those of the training set"));
  put_below("train/cat/x.gif", "GIF89a");
  EXPECT_THAT(refusal(), HasSubstr("save them as PNG, JPEG or PPM"));
  std::filesystem::remove(path("train/cat/x.gif"));
  put_below("train/cat/broken.png", picture("rgb.png").substr(0, 90));
  EXPECT_THAT(refusal(), HasSubstr("cat/broken.png"));
  wanted.inputs[0].shape = {7};
  EXPECT_THAT(refusal(), HasSubstr("the model's input is no image"));
}

// ---- Whatever it is -------------------------------------------------------------------------------------------------

TEST_F(Sources, NothingFoundTellsEveryFormat) {
  const std::string text = refusal();
  for (const char* looked :
       {"x_train.npy", "train.npz", "data_batch_*.bin", "train.csv", "TYPE", "folder of each class"})
    EXPECT_THAT(text, HasSubstr(looked));
  EXPECT_THAT(refusal("nowhere"), HasSubstr("there is no such file or folder"));
  put("data.txt", "1,2,3");
  EXPECT_THAT(refusal("data.txt"), HasSubstr("the file holds no data set"));
}

TEST_F(Sources, FilesWithOtherNamesAreToldWithTheirNewOnes) {
  struct Names {
    const char *x, *y, *x_now, *y_now;
  };
  for (const Names& names : {Names{"X.npy", "y.npy", "x_train.npy", "y_train.npy"},
                             Names{"images.npy", "labels.npy", "x_train.npy", "y_train.npy"},
                             Names{"X_train.npy", "Y_train.npy", "x_train.npy", "y_train.npy"},
                             Names{"train_images.npy", "train-labels.npy", "x_train.npy", "y_train.npy"},
                             Names{"data.f32", "target.i64", "x_train.f32", "y_train.i64"}}) {
    put(names.x, "x"), put(names.y, "y");
    const std::string text = refusal();
    EXPECT_THAT(text, HasSubstr(names.x));
    EXPECT_THAT(text, HasSubstr(std::string("/") + names.x_now));
    EXPECT_THAT(text, HasSubstr(std::string("/") + names.y_now));
    EXPECT_THAT(text, HasSubstr("help: rename: mv "));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("looked for")));
    std::filesystem::remove(path(names.x)), std::filesystem::remove(path(names.y));
  }
}

TEST_F(Sources, WhatIsThereIsToldWhereItsNamesSayNothing) {
  EXPECT_THAT(refusal(), HasSubstr("the folder is empty"));
  put("a.npy", "x"), put("b.npy", "y");
  EXPECT_THAT(refusal(), HasSubstr("the folder has a.npy, b.npy"));
  EXPECT_THAT(refusal(), HasSubstr("looked for"));
  for (int file = 0; file < 20; ++file) put(fmt::format("part{}.bin", 10 + file), "x");
  EXPECT_THAT(refusal(), HasSubstr("and 14 more"));
  put_below("h5/train.h5", "\x89HDF\r\n\x1a\n....");
  EXPECT_THAT(refusal("h5"), HasSubstr("train.h5 is an HDF5 file"));
  put_below("csv/iris.csv", "1,2,0");
  EXPECT_THAT(refusal("csv"), HasSubstr("name the file: --data " + path("csv/iris.csv")));
}

TEST_F(Sources, AnNpzWithOtherArraysIsToldWithTheirNames) {
  put_below("x/anything.npz", picture("stored.npz"));  // x_train, y_train, ...
  EXPECT_THAT(refusal("x"), HasSubstr("name the file: --data " + path("x/anything.npz")));
}

TEST_F(Csv, AColumnThatCountsTheRowsUpIsWarnedOf) {
  wanted.inputs[0].shape = {3};
  const auto warnings = [&](const std::string& header, const std::string& row, int rows) {
    std::string text = header;
    for (int at = 0; at < rows; ++at) text += fmt::format(fmt::runtime(row), at, (at * 7) % 5, at * 0.5) + "\n";
    put("data.csv", text);
    const auto data = open("data.csv");
    EXPECT_TRUE(data) << to_text(data.error());
    return data ? data->train.warnings : std::vector<std::string>();
  };
  EXPECT_THAT(warnings("id,a,b,label\n", "{0},{1},{2},{1}", 40), ElementsAre(HasSubstr("the column 'id' of ")));
  EXPECT_THAT(warnings("a,b,no,label\n", "{1},{2},10{0:02},{1}", 40), ElementsAre(HasSubstr("'no'")));
  EXPECT_THAT(warnings("", "{1},{0},{2},{1}", 40), ElementsAre(HasSubstr("the column 2 of ")));
  EXPECT_THAT(warnings("", "{1},{0},{2},{1}", 9), ElementsAre());    // too few to tell
  EXPECT_THAT(warnings("", "{1},{2},{1},{1}", 40), ElementsAre());   // a time in half seconds
  EXPECT_THAT(warnings("", "{1},{1},{1},{0}", 40), ElementsAre());   // the label is no feature
  EXPECT_THAT(warnings("", "{0},{0},{1},{1}", 40), ElementsAre(HasSubstr("column 1"), HasSubstr("column 2")));
}

// ---- Records of f32 --------------------------------------------------------------------------------------------------

class Records : public Sources {
 protected:
  void SetUp() override {
    Sources::SetUp();
    wanted = {{{"a", base::DType::kF32, {1, 2}}, {"b", base::DType::kF32, {1}}}, {"y", base::DType::kF32, {2}}};
  }
  // 0, 1, 2, ..
  std::string put_floats(const std::string& name, int count) const {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t each = 0; each < values.size(); ++each) values[each] = static_cast<float>(each);
    return put(name, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  }
};

TEST_F(Records, HoldInputsThenLabelsOfEachSample) {
  put_floats("train.dat", 15);
  const auto data = open("train.dat");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.format, "records");
  EXPECT_EQ(data->train.count(), 3);
  EXPECT_THAT(numbers<float>(*data->train.inputs.at(0), 1), ElementsAre(5, 6));
  EXPECT_THAT(numbers<float>(*data->train.inputs.at(1), 1), ElementsAre(7));
  EXPECT_THAT(numbers<float>(*data->train.labels, 2), ElementsAre(13, 14));
}

TEST_F(Records, HoldTheLabelsOfEveryLoss) {
  wanted.more_labels = {{"z", base::DType::kF32, {1}}};
  put_floats("train.dat", 12);
  const auto data = open("train.dat");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_THAT(numbers<float>(*data->train.labels, 1), ElementsAre(9, 10));
  EXPECT_THAT(numbers<float>(*data->train.more_labels.at(0), 1), ElementsAre(11));
}

TEST_F(Records, NeedNoLabelsWhereNoneAreWanted) {
  wanted.labels = false;
  put_floats("inputs.dat", 9);
  const auto data = open("inputs.dat");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.count() + data->test.count(), 3);
}

TEST_F(Records, AreASecondPlacesTestSet) {
  put_floats("train.dat", 10), put_floats("valid.dat", 5);
  options.test_path = path("valid.dat");
  const auto data = open("train.dat");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.count(), 2);
  EXPECT_EQ(data->test.count(), 1);
}

TEST_F(Records, OfOtherSizesOrTypesAreRefused) {
  put_floats("train.dat", 14);
  EXPECT_THAT(refusal("train.dat"), HasSubstr("looked for records of 5 f32 numbers (20 bytes), the file has 56 bytes"));
  put("empty.dat", "");
  EXPECT_THAT(refusal("empty.dat"), HasSubstr("E0262"));
  put_floats("train.dat", 15);
  wanted.label.dtype = base::DType::kI64;
  EXPECT_THAT(refusal("train.dat"), HasSubstr("did not look for records of f32 numbers"));
  wanted.label = {"y", base::DType::kF32, {0}};
  wanted.inputs = {{"a", base::DType::kF32, {0}}};
  EXPECT_THAT(refusal("train.dat"), HasSubstr("E0262"));
}

TEST_F(Sources, AShareIsHeldOutWhereThereIsNoTestSet) {
  std::filesystem::copy(kTestdata + "deflated.npz", path("data.npz"));
  options.val_split = 0.25;
  const auto data = open("data.npz");
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.count(), 3);
  EXPECT_EQ(data->test.count(), 1);
  EXPECT_THAT(numbers<float>(*data->test.inputs.at(0), 0), ElementsAre(18, 19, 20, 21, 22, 23));
  std::filesystem::copy(kTestdata + "stored.npz", path("both.npz"));
  EXPECT_THAT(refusal("both.npz"), HasSubstr("leave --val-split out"));
}

TEST(ZipDirectory, AnyBytesAreUnderstoodOrRefused) {
  const std::string whole = base::read_file(kTestdata + "stored.npz").value();
  const size_t begin = whole.find("PK\1\2");
  const std::string directory = whole.substr(begin, whole.find("PK\5\6") - begin);
  for (size_t at = 0; at < directory.size(); ++at) {
    std::string broken = directory;
    broken[at] = static_cast<char>(~broken[at]);
    (void)parse_zip_directory(std::as_bytes(std::span(broken)), "zip");
    if (at > 0) (void)parse_zip_directory(std::as_bytes(std::span(directory)).first(at), "zip");
  }
  EXPECT_EQ(parse_zip_directory(std::as_bytes(std::span(directory)), "zip")->size(), 4U);
}

}  // namespace
}  // namespace pantoum::data
