"""The cases of make_expected.py: each a network, its inputs, targets and steps."""
import audio
import chosen
import dense_prediction
import generative
import indices
import language
import mobile
import points
import sequence
import tabular
import vision
import volumes

BOUND = 1e-3


def image(*shape):
    return {"kind": "uniform", "shape": list(shape)}


def ids(bound, *shape):
    return {"kind": "ids", "shape": list(shape), "below": bound}


def lengths(*shape):
    return {"kind": "lengths", "shape": list(shape)}


def flags(*shape):
    return {"kind": "flags", "shape": list(shape)}


def zeros(*shape):
    return {"kind": "zeros", "shape": list(shape)}


def same_as_input(index, *shape):
    return {"kind": "uniform", "shape": list(shape), "stream": 1000 + index}


def case(kind, inputs, label, lr, momentum=0.9, loss="cross_entropy", dynamo=21, folds=False, quiet=None, bias=0.0, bound=BOUND, terms=None, default=None):
    """`folds`: PyTorch's newer exporter folds batch norm and transposed weights away unless it is told not to optimize.
    `quiet`: the last normalization of every residual branch, or T5's queries: they begin with a fifth of the usual scale, as they are
    initialized in practice.
    `bias`: where those of normalizations begin; above 0 fewer kinks of ReLU are near.
    `bound`: of the losses; one integer that is wrong in a mask or an index moves them little.
    `terms`: of a network with several outputs, in place of `loss` and `label`: each one's loss, targets and weight.
    `default`: the newer exporter's default call is exported too, where what trains is not in its file as the network has it. It "trains",
    or is "refused"."""
    return {"kind": kind, "inputs": inputs, "label": label, "lr": lr, "momentum": momentum, "loss": loss, "dynamo": dynamo, "folds": folds,
            "quiet": quiet, "bias": bias, "bound": bound, "terms": terms, "default": default}


def near(kind, inputs, label, lr, momentum=0.9, loss="cross_entropy", default="trains", **more):
    """A case whose losses are within 1e-5, exported in all three ways."""
    return case(kind, inputs, label, lr, momentum, loss, folds=True, bound=1e-5, default=default, **more)


def folded(*words, **more):
    """The same; of the default call's file training would not be the network's: it is refused."""
    return near(*words, default="refused", **more)


def term(loss, label, weight=1.0):
    return {"loss": loss, "label": label, "weight": weight}


FIRST = {
    "lenet5": case(vision.LeNet5, [image(8, 1, 28, 28)], ids(10, 8), 0.05, dynamo=18),
    "vgg16": case(vision.Vgg16, [image(2, 3, 32, 32)], ids(10, 2), 0.00005),
    "resnet18": case(vision.resnet18, [image(2, 3, 64, 64)], ids(10, 2), 0.000005, folds=True),
    "resnet50": case(vision.resnet50, [image(2, 3, 64, 64)], ids(10, 2), 0.00001, folds=True, quiet="bn3.weight"),
    "mobilenetv2": case(vision.MobileNetV2, [image(8, 3, 64, 64)], ids(10, 8), 0.000002, folds=True),
    "squeezenet": case(vision.SqueezeNet, [image(4, 3, 64, 64)], ids(10, 4), 0.003),
    "inceptionv3": case(vision.InceptionV3, [image(2, 3, 107, 107)], ids(10, 2), 0.000002, folds=True, bias=1.0),
    "densenet121": case(vision.DenseNet121, [image(2, 3, 64, 64)], ids(10, 2), 0.0000003, folds=True),
    "unet": case(vision.UNet, [image(2, 3, 36, 44)], ids(3, 2, 36, 44), 0.001, folds=True),
    "bert": case(sequence.Bert, [ids(120, 4, 16), ids(2, 4, 16), lengths(4, 16)], ids(4, 4), 0.0003, folds=True),
    "gpt2": case(sequence.Gpt2, [ids(96, 4, 16)], ids(96, 4, 16), 0.01, dynamo=18, folds=True),
    "gpt_fused": case(sequence.GptFused, [ids(96, 4, 16)], ids(96, 4, 16), 0.03, momentum=0, folds=True),
    "vit": case(sequence.ViT, [image(4, 3, 32, 32)], ids(10, 4), 0.0005, folds=True),
    "cf": case(sequence.CollaborativeFilter, [ids(400, 64), ids(300, 64)], image(64, 1), 0.1, momentum=0, loss="mse", dynamo=18),
    "swin": case(indices.Swin, [image(4, 3, 32, 32)], ids(10, 4), 0.003, folds=True, bound=1e-5),
    "t5": case(indices.T5, [ids(64, 3, 12), ids(64, 3, 10)], ids(64, 3, 10), 0.0005, folds=True, quiet="q.weight", bound=1e-5),
    "dlrm": case(indices.Dlrm, [image(16, 6), ids(1000, 16, 4), ids(200, 16, 1)], image(16, 1), 0.02, loss="mse", bound=1e-5),
    "masked_mean": case(indices.MaskedMean, [ids(80, 6, 12), lengths(6, 12)], ids(4, 6), 0.05, bound=1e-5),
}

VISION = {
    "mobilenetv3": folded(mobile.MobileNetV3, [image(8, 3, 32, 32)], ids(10, 8), 0.03),
    "efficientnet": folded(mobile.EfficientNet, [image(8, 3, 32, 32), ids(2, 8, 5)], ids(10, 8), 0.03),
    "convnext": near(mobile.ConvNeXt, [image(4, 3, 32, 32)], ids(10, 4), 0.001),
    "mixer": near(mobile.Mixer, [image(4, 3, 16, 16)], ids(10, 4), 0.01),
    "shufflenetv2": folded(mobile.ShuffleNetV2, [image(8, 3, 32, 32)], ids(10, 8), 0.03),
    "resnext": folded(mobile.resnext, [image(8, 3, 16, 16)], ids(10, 8), 0.003),
    "regnet": folded(mobile.regnet, [image(8, 3, 16, 16)], ids(10, 8), 0.03),
    "senet": folded(mobile.senet, [image(8, 3, 16, 16)], ids(10, 8), 0.03),
    "deeplab": folded(dense_prediction.DeepLab, [image(2, 3, 24, 24)], ids(4, 2, 24, 24), 0.3),
    "retinanet": folded(dense_prediction.RetinaNet, [image(2, 3, 32, 32)], None, 0.1,
                      terms=[term("cross_entropy", ids(5, 2, 672)), term("smooth_l1", image(2, 672, 4), 0.5)]),
    "shared_head": near(dense_prediction.SharedHead, [image(4, 3, 16, 16)], ids(4, 4), 0.004),
    "espcn": near(dense_prediction.Espcn, [image(4, 1, 12, 12)], image(4, 1, 24, 24), 0.3, loss="mse"),
    "autoencoder": near(dense_prediction.Autoencoder, [image(8, 1, 16, 16)], same_as_input(0, 8, 1, 16, 16), 0.3, loss="mse"),
    "normalized": near(dense_prediction.Normalized, [image(8, 3, 16, 16)], ids(10, 8), 0.03),
    "siamese": near(tabular.Siamese, [image(6, 1, 16, 16), image(6, 1, 16, 16)], flags(6, 1), 0.03, loss="bce_with_logits"),
    "convlstm": near(points.ConvLstm, [image(3, 4, 1, 8, 8)], image(3, 1, 8, 8), 0.3, loss="mse"),
}

GENERATIVE = {
    "diffusion": near(generative.Diffusion, [image(3, 1, 8, 8), ids(100, 3)], image(3, 1, 8, 8), 0.03, loss="mse"),
    "vae": near(generative.Vae, [image(6, 1, 12, 12), image(6, 6)], None, 0.1,
                terms=[term("mse", same_as_input(0, 6, 1, 12, 12)), term("l1", zeros(6, 1), 0.05)]),
    "dcgan": folded(generative.Discriminator, [image(8, 3, 32, 32)], flags(8, 1), 0.001, loss="bce_with_logits"),
    "nerf": near(generative.Nerf, [image(12, 8, 3), image(12, 3)], image(12, 3), 0.3, loss="mse"),
    "siren": near(generative.Siren, [image(24, 2)], image(24, 3), 0.0003, loss="mse"),
}

SOUND_AND_LANGUAGE = {
    "wavenet": folded(audio.WaveNet, [ids(32, 3, 24)], ids(32, 3, 24), 0.3, quiet="original0"),
    "tcn": near(audio.Tcn, [image(6, 4, 20)], ids(5, 6), 0.01),
    "conformer": folded(audio.Conformer, [image(4, 16, 8)], ids(6, 4, 8), 0.03),
    "llama": near(language.Llama, [ids(48, 3, 12)], ids(48, 3, 12), 0.01),
    "translator": near(language.Translator, [ids(40, 3, 10), lengths(3, 10), ids(40, 3, 8)], ids(40, 3, 8), 0.1),
    "bidirectional": near(language.BidirectionalTagger, [ids(60, 4, 8)], ids(6, 4, 8), 0.3),
    "crnn": near(audio.Crnn, [image(4, 1, 8, 20)], ids(8, 4, 10), 0.1),
    "gru_tagger": near(language.GruTagger, [ids(60, 4, 10)], ids(6, 4, 10), 0.3),
    "seq2seq": near(language.Seq2Seq, [ids(40, 4, 8), ids(40, 4, 7)], ids(40, 4, 7), 0.3),
    "layernorm_lstm": folded(language.LayerNormLstm, [ids(60, 4, 6)], ids(4, 4), 0.001),
    "highway": near(language.CharHighway, [ids(40, 6, 14)], ids(5, 6), 0.03),
    "mamba": near(language.Mamba, [ids(40, 3, 10)], ids(40, 3, 10), 0.001),
    "transformer_xl": folded(language.TransformerXl, [ids(40, 3, 8), image(3, 4, 16)], ids(40, 3, 8), 0.03),
}

TABLES_AND_POINTS = {
    "deepfm": folded(tabular.DeepFm, [ids(20, 16, 5)], flags(16, 1), 0.03, loss="bce_with_logits"),
    "ft_transformer": near(tabular.FtTransformer, [image(8, 6), ids(10, 8, 3)], image(8, 1), 0.0001, loss="mse"),
    "wide_deep": near(tabular.WideDeep, [image(16, 6), ids(12, 16, 3)], flags(16, 1), 0.03, loss="bce_with_logits"),
    "mmoe": near(tabular.Mmoe, [image(16, 8)], None, 0.03, terms=[term("cross_entropy", ids(4, 16)), term("mse", image(16, 1), 0.1)]),
    "kan": near(tabular.Kan, [image(16, 4)], image(16, 1), 0.03, loss="mse"),
    "perceiver": near(tabular.Perceiver, [image(4, 20, 6)], ids(6, 4), 0.003),
    "pointnet": folded(points.PointNet, [image(8, 3, 24)], ids(6, 8), 0.001),
    "gcn": near(points.GraphConvolution, [image(6, 8, 6), ids(2, 6, 8, 8)], ids(5, 6), 0.1),
}

MORE_OPERATORS = {
    "fasttext": near(language.FastText, [ids(120, 8, 10)], ids(4, 8), 0.3),
    "experts": near(tabular.TopExperts, [ids(40, 4, 6)], ids(40, 4, 6), 0.1),
    "gated_experts": near(chosen.Experts, [image(16, 12)], ids(5, 16), 0.05),
    "sampler": near(chosen.Sampler, [image(4, 3, 12, 12)], ids(10, 4), 0.001),
    "unet3d": folded(volumes.UNet3d, [image(2, 1, 6, 12, 16)], ids(3, 2, 6, 12, 16), 0.01),
    "r2plus1d": folded(volumes.R2Plus1d, [image(4, 3, 6, 20, 20)], ids(5, 4), 0.0005),
    "message_passing": near(points.MessagePassing, [image(4, 8, 6), ids(8, 4, 14), ids(8, 4, 14)], ids(4, 4), 0.03),
    "c3d": folded(points.C3d, [image(4, 2, 4, 8, 8)], ids(5, 4), 0.03),
}

NETWORKS = {**FIRST, **VISION, **GENERATIVE, **SOUND_AND_LANGUAGE, **TABLES_AND_POINTS, **MORE_OPERATORS}
