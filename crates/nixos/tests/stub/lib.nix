# A stub of the module system of NixOS, as small as it can be: options with types, definitions with priorities, imports. It takes the
# place of nixpkgs, which these tests do not have. What it does not know it refuses.
let
  inherit (builtins) all any attrNames concatLists concatMap concatStringsSep elem filter foldl' hasAttr head isAttrs isBool isFunction isInt
    isList isString listToAttrs mapAttrs removeAttrs;

  isA = type: value: isAttrs value && (value._type or null) == type;
  plain = 100;
  priorityOf = def: if isA "override" def.value then def.value.priority else plain;

  # Of all definitions, those that count: the ones of the smallest number.
  strongest = defs:
    let smallest = foldl' (so: def: if priorityOf def < so then priorityOf def else so) 10000 defs;
    in map (def: if isA "override" def.value then def // { value = def.value.content; } else def)
      (filter (def: priorityOf def == smallest) defs);

  # A priority on a whole set is one on everything in it.
  pushed = value:
    if isA "override" value && isAttrs value.content then mapAttrs (_: it: mkOverride value.priority it) value.content else value;

  shown = loc: concatStringsSep "." loc;

  under = name: defs: concatMap
    (def:
      let value = pushed def.value;
      in if isAttrs value && hasAttr name value then [ (def // { value = value.${name}; }) ] else [ ])
    defs;
  namesIn = defs: attrNames (listToAttrs (concatMap (def: map (name: { inherit name; value = null; }) (attrNames (pushed def.value))) defs));

  merged = loc: type: defs: type.merge loc (strongest defs);

  evaluated = loc: options: defs:
    let unknown = filter (name: ! hasAttr name options) (namesIn defs);
    in if unknown != [ ] then throw "The option `${shown (loc ++ [ (head unknown) ])}' does not exist."
    else mapAttrs
      (name: option:
        let here = loc ++ [ name ]; found = under name defs;
        in if ! isA "option" option then evaluated here option found
        else if found != [ ] then merged here option.type found
        else option.default or (throw "The option `${shown here}' is used but not defined."))
      options;

  scalar = name: check: {
    inherit name;
    merge = loc: defs:
      if ! all (def: check def.value) defs then throw "A definition for option `${shown loc}' is not of type `${name}'."
      else if ! all (def: def.value == (head defs).value) defs then throw "The option `${shown loc}' has conflicting definition values."
      else (head defs).value;
  };

  mkOverride = priority: content: { _type = "override"; inherit priority content; };
in
rec {
  inherit mkOverride;
  mkForce = mkOverride 50;
  mkDefault = mkOverride 1000;
  mkOption = option: option // { _type = "option"; };

  types = {
    bool = scalar "boolean" isBool;
    str = scalar "string" isString;
    int = scalar "integer" isInt;
    intOrAuto = scalar "integer or \"auto\"" (value: isInt value || value == "auto");
    unitOption = scalar "systemd option" (value: isString value || isInt value || isBool value);
    anything = scalar "anything" (_: true);
    listOf = elemType: {
      name = "list";
      merge = loc: defs: concatLists (map (def: if isList def.value then def.value else throw "`${shown loc}' is no list") defs);
    };
    attrsOf = type: {
      name = "attribute set";
      merge = loc: defs:
        if ! all (def: isAttrs def.value) defs then throw "A definition for option `${shown loc}' is not of type `attribute set'."
        else listToAttrs (map (name: { inherit name; value = merged (loc ++ [ name ]) type (under name defs); }) (namesIn defs));
    };
    submodule = options: {
      name = "submodule";
      merge = loc: defs: evaluated loc options defs;
    };
  };

  # All modules that these import, each once, with what they define and declare.
  evalModules = modules:
    let
      open = module:
        let
          raw = if isAttrs module || isFunction module then module else import module;
          it = if isFunction raw then raw args else raw;
        in concatMap open (it.imports or [ ]) ++ [ it ];
      all = concatMap open modules;
      options = foldl' (so: it: deep so (it.options or { })) { } all;
      deep = a: b: a // mapAttrs (name: value: if hasAttr name a && ! isA "option" value then deep a.${name} value else value) b;
      body = it: it.config or (removeAttrs it [ "imports" "options" ]);
      args = { inherit lib config; };
      lib = { inherit mkOverride mkForce mkDefault mkOption types; };
      config = evaluated [ ] options (map (it: { value = body it; }) all);
    in config;
}
