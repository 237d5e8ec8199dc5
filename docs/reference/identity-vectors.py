#!/usr/bin/env python3
"""Writes identity-vectors.json: keys and digests computed from docs/reference/identity.md alone.

A second implementation of the canonical encoding, version 1, in another language and without landonce: what both compute
is what is written down. `identity-vectors.py` prints the file; `identity-vectors.py --check FILE` compares.
"""

import base64, datetime, hashlib, json, re, sys, unicodedata, uuid
from decimal import ROUND_HALF_EVEN, Context, Decimal

EXACT = Context(prec=100_000, Emax=999_999, Emin=-999_999, rounding=ROUND_HALF_EVEN)


class Number(str):
    """A JSON number, kept as it is written."""


class Bad(Exception):
    """A record that has no key."""

    def __init__(self, kind, field):
        super().__init__(kind, field)
        self.kind, self.field = kind, field


def load(text):
    def members(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise Bad("duplicate name", None)
        return dict(pairs)

    record = json.loads(text, parse_int=Number, parse_float=Number, object_pairs_hook=members)

    def check(value):
        if isinstance(value, dict):
            for name, inner in value.items():
                check(str(name)), check(inner)
        elif isinstance(value, list):
            for inner in value:
                check(inner)
        elif isinstance(value, str):
            if "\0" in value:
                raise Bad("nul character", None)
            if re.search("[\ud800-\udfff]", value):
                raise Bad("lone surrogate", None)

    check(record)
    return record


# ---------------------------------------------------------------------------------------------- the encoding


def put(tag, content):
    return tag.encode() + len(content).to_bytes(4, "big") + content


def number(text):
    sign, digits, exponent = Decimal(text).as_tuple()
    digits = "".join(map(str, digits)).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return put("n", b"0e0")
    return put("n", f"{'-' * sign}{short}e{exponent + len(digits) - len(short)}".encode())


def untyped(value, without=()):
    """`without`: paths that are left out, names joined by dots."""
    if value is None:
        return put("z", b"")
    if isinstance(value, bool):
        return put("b", str(value).lower().encode())
    if isinstance(value, Number):
        return number(value)
    if isinstance(value, str):
        return put("s", value.encode())
    if isinstance(value, list):
        return put("a", b"".join(untyped(item, without) for item in value))
    out = b""
    for name in sorted(value, key=lambda name: name.encode()):
        if name not in without:
            out += put("s", name.encode()) + untyped(value[name], inside(name, without))
    return put("o", out)


def inside(name, paths):
    return tuple(path[len(name) + 1 :] for path in paths if path.startswith(name + "."))


# ---------------------------------------------------------------------------------------------- typed values


def instant(text):
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)?([Zz]|[+-]\d\d(?::?\d\d)?)?", text)
    if not found:
        raise Bad("out of range", None)
    date, minute, second, fraction, offset = found.groups()
    fraction = (fraction or ".")[1:]
    if fraction[6:].strip("0"):
        raise Bad("out of range", None)
    whole = datetime.datetime.strptime(date + minute + (second or ":00"), "%Y-%m-%d%H:%M:%S")
    whole = whole.replace(microsecond=int(fraction[:6].ljust(6, "0")))
    if offset and offset not in "Zz":
        hours, minutes = int(offset[1:3]), int(offset[-2:]) if len(offset) > 3 else 0
        east = datetime.timedelta(hours=hours, minutes=minutes)
        whole = whole - east if offset[0] == "+" else whole + east
    return whole.isoformat(timespec="microseconds"), offset is not None


def typed(value, column, is_csv):
    """A declared column's value, encoded; None for NULL."""
    ty, places = (column, None) if isinstance(column, str) else (column["type"], column.get("round"))
    if value is None or (is_csv and value == "" and ty != "text"):
        return None
    wrong = Bad("wrong type", None)
    if ty == "text":
        if not isinstance(value, str) or isinstance(value, Number):
            raise wrong
        return put("s", value.encode())
    if ty in ("integer", "int", "smallint") or ty.startswith("decimal"):
        if not isinstance(value, str) or not re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", value):
            raise wrong
        exact = Decimal(value)
        bits = {"integer": 63, "int": 31, "smallint": 15}.get(ty)
        if bits and (exact != EXACT.to_integral_value(exact) or not -(1 << bits) <= exact < 1 << bits):
            raise Bad("out of range", None)
        limits = re.fullmatch(r"decimal\((\d+),(\d+)\)", ty)
        if limits:
            precision, scale = map(int, limits.groups())
            step = Decimal(1).scaleb(-scale)
            if exact != EXACT.quantize(exact, step) or abs(exact) >= Decimal(10) ** (precision - scale):
                raise Bad("out of range", None)
        return number(value)
    if ty == "float":
        return number(repr(float(value)))
    if ty == "boolean":
        if is_csv and value in ("true", "TRUE", "True", "t", "1", "false", "FALSE", "False", "f", "0"):
            value = value[0] in "tT1"
        if not isinstance(value, bool):
            raise wrong
        return untyped(value)
    if ty == "json":
        return untyped(load(value) if is_csv else value)
    if ty.endswith("[]"):
        return put("a", b"".join(typed(item, ty[:-2], False) or put("z", b"") for item in value))
    if ty.startswith("geometry"):
        return untyped(value) if places is None else put("g", geometry(value, places).encode())
    if isinstance(value, Number) or not isinstance(value, str):
        raise wrong
    if ty == "date":
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            raise Bad("out of range", None)
        return put("d", datetime.date.fromisoformat(value).isoformat().encode())
    if ty in ("timestamptz", "timestamp"):
        text, has_offset = instant(value)
        if has_offset != (ty == "timestamptz"):
            raise Bad("out of range", None)
        return put("t", f"{text}Z".encode()) if has_offset else put("l", text.encode())
    if ty == "uuid":
        return put("u", str(uuid.UUID(value)).encode())
    if ty == "bytes":
        is_hex = value.startswith("\\x")
        return put("x", bytes.fromhex(value[2:]) if is_hex else base64.b64decode(value, validate=True))
    raise ValueError(ty)


def geometry(value, places):
    def shown(at):
        if isinstance(at, list):
            return "[" + ",".join(map(shown, at)) + "]"
        exact = Decimal(at)
        step = Decimal(1).scaleb(-places)
        kept = EXACT.quantize(exact, step) if exact.as_tuple().exponent < -places else exact
        plain = format(kept, "f")
        plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return "0" if plain in ("-0", "") else plain

    return f'{{"type":"{value["type"]}","coordinates":{shown(value["coordinates"])}}}'


# ---------------------------------------------------------------------------------------------- key and digest


def normalized(text, steps):
    for step in steps:
        text = {"trim": str.strip, "lowercase": str.lower, "nfc": lambda t: unicodedata.normalize("NFC", t)}[step](text)
    return text


def compute(vector):
    record = load(vector["record"])
    is_csv = vector.get("csv", False)
    columns, identity = vector.get("columns", {}), vector["identity"]
    if isinstance(identity, list):
        identity = {"fields": identity}
    fields = identity.get("fields") or ([identity["sender_id"]] if "sender_id" in identity else [])
    steps, as_value = identity.get("normalize", []), identity.get("null_key") == "as_value"
    if steps:
        for name in fields:
            if isinstance(record.get(name), str) and not isinstance(record[name], Number):
                record[name] = normalized(record[name], steps)

    # What each field is: encoded, or None where a column holds NULL.
    encoded = {}
    for name, value in record.items():
        try:
            if name in columns:
                encoded[name] = typed(value, columns[name], is_csv)
            elif name in fields:
                encoded[name] = None if value is None else untyped(value)
        except Bad as bad:
            raise Bad(bad.kind, name) from None
    for name in fields:
        if not as_value and name not in record:
            raise Bad("absent key", name)
        if not as_value and encoded[name] is None:
            raise Bad("null key", name)

    # The content: all fields, sorted, less what changes per attempt, the sender's id, the delete marker, and NULLs.
    out = list(vector.get("volatile", [])) + list(identity.get("except", []))
    out += [identity["sender_id"]] if "sender_id" in identity else []
    marker = vector.get("write", {}).get("delete_when", {}).get("field")
    out += [marker] if marker else []

    def content(only=None):
        members = b""
        for name in sorted(record, key=lambda name: name.encode()):
            if name in out or (only is not None and name not in only):
                continue
            inner = inside(name, out)
            if name in encoded:
                if encoded[name] is None:
                    continue
                of = columns.get(name)
                value = untyped(record[name], inner) if of == "json" and not is_csv else encoded[name]
            else:
                value = untyped(record[name], inner)
            members += put("s", name.encode()) + value
        return put("o", members)

    if "hash_of" in identity:
        canonical = content(None if identity["hash_of"] == "all" else identity["hash_of"])
        hashed = hashlib.sha256(b"landonce:key:1" + canonical).digest()
    elif "joined" in identity:
        parts = []
        for name in fields:
            value = record[name]
            part = str(value).lower() if isinstance(value, bool) else str(value)
            if identity["joined"] in part:
                raise Bad("ambiguous key", name)
            parts.append(part)
        canonical = identity["joined"].join(parts).encode()
        hashed = hashlib.sha256(canonical).digest()
    else:
        null = put("z", b"")
        canonical = b"".join((encoded[name] or null) if name in record else put("m", b"") for name in fields)
        hashed = hashlib.sha256(b"landonce:key:1" + canonical).digest()
    number = int.from_bytes(hashed[:16], "big")
    number = number & ~(0xF << 76) | 8 << 76
    number = number & ~(0x3 << 62) | 2 << 62
    whole = content()
    return {
        "key_canonical": canonical.hex(),
        "key_sha256": hashed.hex(),
        "key_uuid": str(uuid.UUID(int=number)),
        "content_canonical": whole.hex(),
        "digest": hashlib.sha256(b"landonce:digest:1" + whole).hexdigest(),
    }


# ---------------------------------------------------------------------------------------------- the vectors

VECTORS = []


def add(name, record, identity, cases=(), **more):
    VECTORS.append({"name": name, **({"cases": list(cases)} if cases else {}), "record": record, "identity": identity, **more})


def fill():
    flight = '{"flight_id":"B6-739","event_kind":"departure","instant_utc":"2013-03-03T04:55:00Z","gate":"7"}'
    of = ["flight_id", "event_kind", "instant_utc"]
    add("one text", '{"id":"a"}', ["id"])
    add("an empty text", '{"id":""}', ["id"])
    add("a flight, its instant typed", flight, of, columns={"instant_utc": "timestamptz"})
    add("a flight, its instant a text", flight, of)
    add("the order of the identity counts", flight, of[::-1], columns={"instant_utc": "timestamptz"})

    for a, b in [("doc-7", "12"), ("doc-71", "2"), ("a|b", "c"), ("a", "b|c")]:
        add(f"parts never run together: {a} and {b}", json.dumps({"a": a, "b": b}), ["a", "b"], ["C03"])

    as_value = {"fields": ["a"], "null_key": "as_value"}
    for what, record in [("null", '{"a":null}'), ("the word null", '{"a":"null"}'), ("empty", '{"a":""}'), ("absent", "{}")]:
        add(f"{what}, with null_key: as_value", record, as_value, ["C04"])
    add("null is refused", '{"a":null}', ["a"], ["C04"])
    add("absent is refused", '{"b":1}', ["a"], ["C04"])
    add("a null of two parts", '{"a":"x","b":null}', {"fields": ["a", "b"], "null_key": "as_value"}, ["C02"])

    big = ["9196877626998784", "9196877626998785", "18446744073709551615", "1234567890123456789012345"]
    for lexeme in big:
        add(f"the integer {lexeme}", f'{{"id":{lexeme}}}', ["id"], ["C05"])
    for lexeme in big[:2]:
        add(f"the integer {lexeme}, declared", f'{{"id":{lexeme}}}', ["id"], ["C05"], columns={"id": "integer"})
        add(f"the integer {lexeme}, from CSV", f'{{"id":"{lexeme}"}}', ["id"], ["C05"], columns={"id": "integer"}, csv=True)
        add(f"the integer {lexeme}, from CSV, undeclared", f'{{"id":"{lexeme}"}}', ["id"], ["C05"], csv=True)
    for lexeme in big[2:]:
        add(f"{lexeme} doesn't fit an integer", f'{{"id":{lexeme}}}', ["id"], ["C05"], columns={"id": "integer"})
        add(f"{lexeme} fits a decimal", f'{{"id":{lexeme}}}', ["id"], ["C05"], columns={"id": "decimal"})

    for lexeme in ["1", "1.0", "1e0", "0.1e1", "120", "1.2E+2", "0.5", "-12.50", "0", "-0", "-0.00", "0e7", "12e-4", "1e300"]:
        add(f"the number {lexeme}", f'{{"id":{lexeme}}}', ["id"])
    add("the text 1", '{"id":"1"}', ["id"])
    add("the boolean true", '{"id":true}', ["id"])
    add("the text true", '{"id":"true"}', ["id"])
    add("a decimal spelled as a text", '{"id":"1.50","m":"123456789012.12345678"}', ["id"], ["C09"],
        columns={"id": "decimal", "m": "decimal(20,8)"})
    add("a decimal that would be rounded", '{"id":1,"m":0.123456789}', ["id"], ["C09"], columns={"m": "decimal(20,8)"})
    add("a float", '{"id":1,"f":0.10000000000000001}', ["id"], columns={"f": "float"})

    for spelled in ["2024-06-01T00:00:00-06:00", "2024-06-01T06:00:00Z", "2024-06-01T06:00:00+00:00", "2024-06-01t06:00:00z"]:
        add(f"the instant {spelled}, typed", f'{{"at":"{spelled}"}}', ["at"], ["C13"], columns={"at": "timestamptz"})
        add(f"the instant {spelled}, a text", f'{{"at":"{spelled}"}}', ["at"], ["C13"])
    add("microseconds", '{"at":"2024-06-01 06:00:00.1234560+0545"}', ["at"], columns={"at": "timestamptz"})
    add("an instant without an offset", '{"at":"2024-06-01T06:00:00"}', ["at"], ["C36"], columns={"at": "timestamptz"})
    add("a civil time", '{"at":"2024-06-01T06:00"}', ["at"], columns={"at": "timestamp"})
    add("a date", '{"day":"2024-02-29"}', ["day"], columns={"day": "date"})
    add("a date of the first year", '{"day":"0001-01-01"}', ["day"], ["C10"], columns={"day": "date"})
    for spelled in ["F47AC10B-58CC-4372-A567-0E02B2C3D479", "f47ac10b58cc4372a5670e02b2c3d479"]:
        add(f"the UUID {spelled}", f'{{"id":"{spelled}"}}', ["id"], columns={"id": "uuid"})
    for spelled in ["aGVsbG8=", "\\\\x68656c6c6f"]:
        add(f"the bytes {spelled}", f'{{"id":"{spelled}"}}', ["id"], columns={"id": "bytes"})
    add("a boolean from CSV", '{"id":"7","late":"TRUE","note":""}', ["id"], csv=True, columns={"late": "boolean"})
    add("empty CSV fields of a typed and of a text column", '{"id":"7","n":"","t":""}', ["id"], csv=True,
        columns={"n": "integer", "t": "text"})

    joined = {"fields": ["a", "b", "c"], "joined": "|", "as": "hex"}
    add("joined: the SHA-256 of a|b|c", '{"a":"a","b":"b","c":"c"}', joined)
    add("joined: numbers as they are written", '{"a":"x","b":12,"c":1.50}', joined)
    add("joined: a part that holds the separator", '{"a":"a|b","b":"c","c":"d"}', joined, ["C03"])

    add("escapes", '{"id":"\\u00e9\\n\\t\\"\\\\\\/\\ud83d\\ude00"}', ["id"])
    add("the same without escapes where JSON allows it", '{"id":"é\\n\\t\\"\\\\/😀"}', ["id"])
    add("é as one character", '{"id":"é"}', ["id"])
    add("e and an accent", '{"id":"e\u0301"}', ["id"])
    steps = ["trim", "nfc", "lowercase"]
    add("normalised", '{"id":" E\u0301TUDE \\n"}', {"fields": ["id"], "normalize": steps})
    add("as it is once normalised", '{"id":"étude"}', {"fields": ["id"], "normalize": steps})
    add("normalised, in a declared text column", '{"id":" Ab ","t":" Ab "}', {"fields": ["id"], "normalize": steps},
        columns={"id": "text", "t": "text"})
    add("names sorted by UTF-8, not by UTF-16", '{"\U0001f600":1,"\uff5e":2,"z":3,"é":4,"id":0}', ["id"])

    nested = '{"id":1,"b":[1.0,"é",null,[],{}],"a":{"y":-0,"x":true}}'
    add("nested", nested, ["id"])
    add("nested, spelled otherwise", '{ "a" : { "x":true , "y":0e3 },\n "b":[1e0,"\\u00e9",null,[],{}], "id":1.0 }', ["id"])
    add("an array counts its order", '{"id":1,"b":["é",1.0,null,[],{}],"a":{"y":-0,"x":true}}', ["id"])

    add("what changes per attempt", '{"id":1,"sent_at":"10:00","attempt":3,"trace":{"id":"q","app":"a"},"v":"x"}', ["id"],
        volatile=["sent_at", "attempt", "trace.id"])
    add("the same without it", '{"id":1,"trace":{"app":"a"},"v":"x"}', ["id"], volatile=["sent_at", "attempt", "trace.id"])
    add("left out inside arrays", '{"id":1,"legs":[{"no":1,"seen":"x"},{"no":2,"seen":"y"}]}', ["id"], volatile=["legs.seen"])
    add("a name that holds the dot", '{"id":1,"a.b":2,"a":{"b":3,"c":4}}', ["id"], volatile=["a.b"])
    add("left out of a json column", '{"id":1,"doc":{"seen":"x","v":1}}', ["id"], columns={"doc": "json"}, volatile=["doc.seen"])

    add("the sender's id is no content", '{"event_id":"e-1","v":1}', {"sender_id": "event_id"})
    add("the same content under another id", '{"event_id":"e-2","v":1}', {"sender_id": "event_id"}, ["G3"])
    add("the whole content", '{"b":2,"a":"x","sent_at":"10:00"}', {"hash_of": "all", "except": ["sent_at"]})
    add("some of the content", '{"b":2,"a":"x","c":null}', {"hash_of": ["a", "b"]})
    add("a content without its null column", '{"a":"x","n":null}', {"hash_of": "all"}, columns={"n": "integer"})

    add("null in a column is as absent", '{"id":1,"n":null}', ["id"], ["C14"], columns={"n": "integer"})
    add("absent from a column", '{"id":1}', ["id"], ["C14"], columns={"n": "integer"})
    add("null in the rest is content", '{"id":1,"n":null}', ["id"], ["C14"])
    add("an array column", '{"id":1,"tags":["a","b"],"marks":[1.0,2]}', ["id"], ["C11"],
        columns={"tags": "text[]", "marks": "integer[]"})
    add("the delete marker is no content", '{"id":1,"op":"d","v":2}', ["id"], ["C30"],
        write={"delete_when": {"field": "op", "equals": ["d"]}})

    rounded = {"g": {"type": "geometry(Point,4326)", "round": 6}}
    add("a geometry, rounded", '{"id":1,"g":{"type":"Point","coordinates":[-71.12345649999,42.0000005]}}', ["id"], columns=rounded)
    add("the same geometry, other digits", '{"id":1,"g":{"coordinates":[-71.123456,4.2e1],"type":"Point"}}', ["id"], columns=rounded)
    add("a geometry with all its digits", '{"id":1,"g":{"type":"Point","coordinates":[-71.12345649999,42.5]}}', ["id"],
        columns={"g": "geometry(Point,4326)"})

    add("a name that stands twice", '{"id":1,"amount":1,"amount":2}', ["id"], ["C12"])
    add("twice only after unescaping", '{"id":1,"n":{"a":1,"\\u0061":2}}', ["id"], ["C12"])
    add("U+0000", '{"id":"a\\u0000b"}', ["id"], ["C07"])
    add("a lone surrogate", '{"id":"a\\ud800b"}', ["id"], ["C07"])


def main():
    fill()
    for vector in VECTORS:
        try:
            vector.update(compute(vector))
        except Bad as bad:
            vector["bad"] = {"kind": bad.kind, **({"field": bad.field} if bad.field else {})}
    names = [vector["name"] for vector in VECTORS]
    assert len(set(names)) == len(names), "two vectors have one name"
    about = (
        "Vectors of the canonical encoding, version 1 (docs/reference/identity.md). A record's text, what is declared, and the "
        "canonical bytes (hex), keys and digest that come out, or why the record is bad. Written by identity-vectors.py."
    )
    whole = json.dumps({"version": 1, "about": about, "vectors": VECTORS}, indent=1, ensure_ascii=True) + "\n"
    if sys.argv[1:2] == ["--check"]:
        if open(sys.argv[2], encoding="ascii").read() != whole:
            sys.exit(f"{sys.argv[2]} isn't what identity-vectors.py writes")
    else:
        sys.stdout.write(whole)


main()
