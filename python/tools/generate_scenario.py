"""Writes the package fairlane/scenario from the JSON Schema of a scenario.

Run it after a change of the schema, with the package installed:

    python tools/generate_scenario.py
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "fairlane" / "scenario"

MADE = "Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints."

EXAMPLE = '''
Values with a unit are text, as in ``"100Gbps"``, ``"1us"`` and ``"256kB"``. Attributes that aren't
stated have the default of the scenario's profile.

>>> from fairlane.scenario import Incast, LinkSpec, Scenario, Star
>>> scenario = Scenario(
...     topology=Star(hosts=4, host_link=LinkSpec(rate="100Gbps", delay="1us")),
...     workload=[Incast(degree=3, size="256kB")],
... )
>>> scenario.congestion.algorithm = "swift"
>>> scenario.to_dict()["congestion"]
{'algorithm': 'swift'}
'''

# Names of machine parts that only say something where they stand.
TYPING = ("List", "Literal", "Optional", "Union")
VAGUE = re.compile(r"^(Config\d*|Params|Mode|File)$")


# The largest numbers of types, which no rule limits.
OF_TYPES = (255, 65535, None)


def value_range(key: dict[str, Any]) -> str:
    """Say which values a key may have, as the page ``docs/scenario.md`` does."""
    if "x-range" in key:
        return str(key["x-range"])
    low, high = key.get("minimum"), key.get("maximum")
    if high in OF_TYPES and not low:
        return ""
    return f"at least {figure(low)}" if high is None else f"{figure(low)} to {figure(high)}"


def figure(number: float) -> str:
    """Write 1e-6 and 1000000, not 1e-06 and 1000000.0."""
    whole = isinstance(number, float) and number.is_integer()
    return re.sub(r"e-0", "e-", str(int(number) if whole else number))


def pascal(text: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[-_]", text))


class Generator:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.defs: dict[str, Any] = schema["$defs"]
        self.names = {name: name for name in self.defs}
        self.rename(schema)
        self.done: set[str] = set()
        # Module, name and text of each definition.
        self.parts: list[tuple[str, str, str]] = []
        self.at: list[str] = []

    def rename(self, schema: dict[str, Any]) -> None:
        for definition in [schema, *self.defs.values()]:
            for key, of in definition.get("properties", {}).items():
                name = of.get("$ref", "").rpartition("/")[2]
                if name.startswith(("Config", "Params")) and VAGUE.match(name):
                    self.names[name] = pascal(key) + "Parameters"
                    for inner, part in self.defs[name].get("properties", {}).items():
                        mode = part.get("$ref", "").rpartition("/")[2]
                        if VAGUE.match(mode):
                            self.names[mode] = pascal(key) + pascal(inner)

    def modules(self) -> dict[str, str]:
        """Give the text of each module by name."""
        self.emit_class("Scenario", self.schema)
        modules = sorted({module for module, _, _ in self.parts}, key=self.order)
        texts = {"_" + module: self.module(module) for module in modules}
        home = {name: module for module, name, _ in self.parts}
        imports = ""
        for module in modules:
            names = "".join(f"    {name},\n" for name in sorted(home) if home[name] == module)
            imports += f"from fairlane.scenario._{module} import (\n{names})\n"
        listed = "".join(f'    "{name}",\n' for name in sorted(home))
        head = f'"""A scenario as objects with typed attributes.\n\n{MADE}\n{EXAMPLE}"""\n\n'
        texts["__init__"] = f"{head}{imports}\n__all__ = [\n{listed}]\n"
        return texts

    def order(self, module: str) -> int:
        return [made for made, _, _ in self.parts].index(module)

    def module(self, module: str) -> str:
        """Give the text of a module: what it imports, and its classes and names."""
        body = "\n".join(text for made, _, text in self.parts if made == module)
        code = re.sub(r'""".*?"""|#:[^\n]*', "", body, flags=re.DOTALL)
        used = set(re.findall(r"\w+", code))
        own = {name for made, name, _ in self.parts if made == module}
        lines = []
        for name, of in (("dataclass", ("dataclass", "field")), ("typing", TYPING)):
            names = [one for one in of if one in used]
            origin = "dataclasses" if name == "dataclass" else name
            lines += [f"from {origin} import {', '.join(names)}"] if names else []
        lines += ["", "from fairlane._section import Section"] if "Section" in used else []
        home = {name: made for made, name, _ in self.parts if name in used - own}
        for origin in sorted(set(home.values())):
            names = sorted(name for name in home if home[name] == origin)
            lines.append(f"from fairlane.scenario._{origin} import {', '.join(names)}")
        head = f'"""{module.capitalize()} of a scenario.\n\n{MADE}\n"""\n\n'
        return head + "from __future__ import annotations\n\n" + "\n".join(lines) + "\n\n" + body

    def type_of(self, of: dict[str, Any]) -> str:
        if "$ref" in of:
            name = of["$ref"].rpartition("/")[2]
            self.define(name)
            return self.names[name]
        if "const" in of:
            return f"Literal[{json.dumps(of['const'])}]"
        if "anyOf" in of:
            parts = [self.type_of(part) for part in of["anyOf"] if part != {"type": "null"}]
            union = parts[0] if len(parts) == 1 else f"Union[{', '.join(parts)}]"
            return f"Optional[{union}]" if {"type": "null"} in of["anyOf"] else union
        kinds = of["type"] if isinstance(of["type"], list) else [of["type"]]
        parts = [self.plain(kind, of) for kind in kinds if kind != "null"]
        union = parts[0] if len(parts) == 1 else f"Union[{', '.join(parts)}]"
        return f"Optional[{union}]" if "null" in kinds else union

    def plain(self, kind: str, of: dict[str, Any]) -> str:
        if kind == "array":
            return f"List[{self.type_of(of['items'])}]"
        if kind == "object":
            return "dict[str, str]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[kind]

    def define(self, name: str) -> None:
        if name in self.done:
            return
        self.done.add(name)
        definition, called = self.defs[name], self.names[name]
        if definition.get("type") == "string" or "string" in definition.get("type", []):
            self.at.append("units")
            self.alias(called, comments(definition), f"{called} = {self.type_of(definition)}")
            self.at.pop()
            return
        if definition.get("type") == "object":
            self.emit_class(called, definition)
            return
        branches = definition.get("oneOf", [])
        if branches and all("const" in branch for branch in branches):
            values = ", ".join(json.dumps(branch["const"]) for branch in branches)
            alias = f"{called} = Literal[{values}]"
            if len(alias) > 95:
                listed = "".join(f"    {json.dumps(branch['const'])},\n" for branch in branches)
                alias = f"{called} = Literal[\n{listed}]"
            self.alias(called, comments(definition), alias)
            return
        if branches:
            members = []
            for branch in branches:
                kind = pascal(branch["properties"]["kind"]["const"])
                member = called + kind if VAGUE.match(kind) else kind
                self.emit_class(member, branch)
                members.append(member)
            self.alias(called, [], f"{called} = Union[{', '.join(members)}]")
            return
        self.alias(called, comments(definition), f"{called} = {self.type_of(definition)}")

    def alias(self, name: str, comment: list[str], text: str) -> None:
        module = "units" if self.at[-1] == "units" else self.at[0]
        self.parts.append((module, name, "\n".join([*comment, text]) + "\n"))

    def emit_class(self, name: str, definition: dict[str, Any]) -> None:
        required = definition.get("required", [])
        properties = definition["properties"]
        first = [key for key in properties if key in required and "const" not in properties[key]]
        rest = [key for key in properties if key not in first]
        fields = []
        for key in [*first, *rest]:
            # What a key of the scenario is made of stands in a module of its name; the large section
            # for congestion has a module for parameters.
            part = properties[key].get("$ref", "").rpartition("/")[2]
            vague = self.names.get(part) != part and name == "Congestion"
            self.at = [key] if name == "Scenario" else self.at
            here = self.at
            self.at = ["parameters"] if vague and part else self.at
            fields.append(self.field(key, properties[key], key in required))
            self.at = here
        about = first_sentence(definition.get("description", name))
        doc = wrap(about, 88) + ["", "Attributes:"]
        for key in [*first, *rest]:
            text = " ".join(properties[key].get("description", "").split())
            text += f" Range: {limits}." if (limits := value_range(properties[key])) else ""
            if "default" in properties[key]:
                default = json.dumps(properties[key]["default"])
                text += f" Default: {default}." if len(default) < 40 else ""
            if "const" not in properties[key]:
                body = wrap(f"{attribute(key)}: {text}", 84)
                doc += ["    " + body[0], *("        " + line for line in body[1:])]
        lines = ["\n@dataclass", f"class {name}(Section):", f'    """{doc[0]}']
        lines += [("    " + line).rstrip() for line in doc[1:]]
        lines += ['    """', "", *("    " + line for line in fields)]
        module = "scenario" if name == "Scenario" else self.at[0]
        self.parts.append((module, name, "\n".join(lines).replace("\\", "\\\\") + "\n"))

    def field(self, key: str, of: dict[str, Any], required: bool) -> str:
        name, kind = attribute(key), self.type_of(of)
        if "const" in of:
            return f"{name}: {kind} = field(default={json.dumps(of['const'])}, init=False)"
        if required:
            return f"{name}: {kind}"
        target = self.defs.get(of.get("$ref", "").rpartition("/")[2], {})
        if target.get("type") == "object" and not target.get("required"):
            return f"{name}: {kind} = field(default_factory=lambda: {kind}())"
        optional = kind if kind.startswith("Optional[") else f"Optional[{kind}]"
        return f"{name}: {optional} = None"


def comments(definition: dict[str, Any]) -> list[str]:
    return [f"#: {text}" for text in wrap(definition.get("description", ""), 93)]


def attribute(key: str) -> str:
    return key + "_" if keyword.iskeyword(key) else key


def first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False) or [""]


def generate(schema: dict[str, Any]) -> dict[str, str]:
    """Give the text of each module by name."""
    return Generator(schema).modules()


if __name__ == "__main__":
    from fairlane import _native

    TARGET.mkdir(exist_ok=True)
    for module, text in generate(json.loads(_native.schema())).items():
        (TARGET / f"{module}.py").write_text(text)
