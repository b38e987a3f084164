"""Names that try to be more than names: fragments that some syntax reads as its own, alone and put together at random."""
import random

FRAGMENTS = [
    "*/", "/*", "//", "\\", "\\\n", "??/", "?\\?/\n", "'", '"', '"""', "`", "`touch canary`", "$(touch canary)", "${HOME}", "$$(shell touch canary)",
    "%s%n%d", "%", "#", "#include \"/etc/passwd\"", "\n#error canary\n", "\nall:\n\ttouch canary\n", "; touch canary;", "| touch canary", "&& touch canary",
    "{}", "{0}", "{:n}", "{{", "<b>", "</th></td>", "<script>document.title='canary'</script>", "<!--", "-->", "]]>", "<?xml?>", "&amp;", "&#0;", "&lt",
    "' onload='canary()", "\" onmouseover=\"canary()", "javascript:canary()", "\x1b[31m", "\x1b]0;canary\x07", "\x1b[2J", "\r", "\n", "\t", "\b", "\x7f", "\x85",
    "\u009b31m", "\u202e", "\u202a", "\u2066", "\u2069", "\u200f", "\u200b", "\ufeff", "\u2028", "\U000e0041", "\u00e9", "\u6f22\u5b57", "\U0001f600", "\u0301", " ", "  ", ",", ";", "=", "@SUM(1)",
    "-rf", "--help", "-", ".", "..", "../../canary", "/etc/canary", "~", "*", "?", "[a-z]", "(", ")", "nul", "CON", "a:b", "!", "^", "|", "<", ">", "&",
    "loss", "grad.", "label.", "x-model", "__metadata__", "__proto__", "NULL", "0", "-1", "1e999", "true",
]

# Bytes that are no name in JSON or in a binary plan: no UTF-8, a surrogate, a form that is too long, a zero.
UNWRITABLE = (b"\xff\xfe\x80\xc0", b"\xed\xa0\x80\x9b", b"a\0bc", b"\xf5\xf5\xf5\xf5", b"/\xc0\xafb")


def long_name(draw):
    return draw.choice("abc\u6f22'*<$") * 10000


def names(count, seed):
    """Different names, none empty; every fragment is the whole of one while they last."""
    draw, made = random.Random(seed), {}
    order = draw.sample(FRAGMENTS, len(FRAGMENTS))
    while len(made) < count:
        if order and draw.random() < 0.5:
            name = order.pop()
        elif draw.random() < 0.02:
            name = long_name(draw)
        else:
            name = "".join(draw.choice(FRAGMENTS) for _ in range(draw.randint(1, 5)))
        made[name] = True
    return list(made)


def is_unseen(letter):
    code = ord(letter)
    return any(first <= code <= last for first, last in (
        (0, 0x1f), (0x7f, 0x9f), (0x61c, 0x61c), (0x200b, 0x200b), (0x200e, 0x200f), (0x2028, 0x202e), (0x2060, 0x206f), (0xfeff, 0xfeff),
        (0xfff9, 0xfffb), (0xe0000, 0xe007f)))


def one_line(name):
    """What the program shows of a name: base::one_line, written down a second time."""
    def shown(letter):
        code = ord(letter)
        if not is_unseen(letter):
            return letter
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(letter) or (f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return "".join(map(shown, name))
