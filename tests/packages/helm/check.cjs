// Reads YAML documents from standard input and holds each against Kubernetes' own schema of its kind:
// types, what is required, and (which the validators do not look at) fields that there are not. One
// line for each finding; exit 1 if there is any. Installed packages: the folder in argv[2].

const fs = require("fs");
const path = require("path");
const modules = path.join(process.argv[2], "node_modules");
const yaml = require(path.join(modules, "js-yaml"));

// Where the schema of a kind is, by its group.
const PLACES = {
  "": "kubernetes-models/_schemas/IoK8sApiCore",
  "apps": "kubernetes-models/_schemas/IoK8sApiApps",
  "policy": "kubernetes-models/_schemas/IoK8sApiPolicy",
  "networking.k8s.io": "kubernetes-models/_schemas/IoK8sApiNetworking",
  "cert-manager.io": "@kubernetes-models/cert-manager/_schemas/ComGithubCertManagerCertManagerPkgApisCertmanager",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator/_schemas/ComGithubPrometheusOperatorPrometheusOperatorPkgApisMonitoring",
};

function schemaOf(document) {
  const [version, group = ""] = document.apiVersion.split("/").reverse();
  if (!(group in PLACES)) throw new Error(`no schema for ${document.apiVersion}`);
  const name = PLACES[group] + version[0].toUpperCase() + version.slice(1) + document.kind;
  return require(path.join(modules, name + ".js")).validate;
}

// A view of a value that notes which fields anybody asked for: a validator asks for all that it knows.
function watched(value, where, asked) {
  if (value === null || typeof value !== "object") return value;
  const names = new Set();
  asked.push({where, value, names});
  const children = new Map();
  return new Proxy(value, {
    get(target, name) {
      names.add(name);
      if (typeof name === "symbol" || !Object.hasOwn(target, name)) return target[name];
      if (!children.has(name)) children.set(name, watched(target[name], `${where}.${name}`, asked));
      return children.get(name);
    },
  });
}

function findings(document) {
  const validate = schemaOf(document);
  const asked = [];
  const found = [];
  if (!validate(watched(document, document.kind, asked))) {
    for (const error of validate.errors) found.push(`${document.kind}${error.instancePath}: ${JSON.stringify(error.params)}`);
  }
  for (const {where, value, names} of asked) {
    if (Array.isArray(value)) continue;
    for (const name of Object.keys(value)) {
      if (!names.has(name) && !["apiVersion", "kind"].includes(name)) found.push(`${where}: there is no field ${name}`);
    }
  }
  return found;
}

const documents = yaml.loadAll(fs.readFileSync(0, "utf8")).filter(Boolean);
const all = documents.flatMap(findings);
console.log([`${documents.length} documents`, ...all].join("\n"));
process.exit(all.length ? 1 : 0);
