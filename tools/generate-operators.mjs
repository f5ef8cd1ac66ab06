// Writes src/tensor/operators.generated.ts: a typed method (first argument `self`) or function for every operator listed in
// src/tensor/operators.txt, from the schemas of the libtorch the bridge is built on.
//
//   node tools/generate-operators.mjs           write the file
//   node tools/generate-operators.mjs --check   exit 1 when the file differs from what would be written
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const root = new URL('..', import.meta.url)
const native = createRequire(import.meta.url)(new URL('build/whetstone.node', root).pathname)
const target = new URL('src/tensor/operators.generated.ts', root)

const schemas = new Map()
for (const text of native.schemas()) {
  const match = /^aten::([A-Za-z0-9_]+)(?:\.([A-Za-z0-9_]+))?\(/.exec(text)
  if (match) schemas.set(match[2] ? `${match[1]}.${match[2]}` : match[1], text)
}

const camel = name => name.replace(/^_+/, '').replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase())
const safe = name => (['var', 'function', 'default', 'new', 'in', 'with'].includes(name) ? `${name}_` : name)

/** One argument or result: alias annotations off, the type split into base, list and optional. */
function parseType(text) {
  const plain = text.replace(/\([a-z!|* >-]*\)/g, '')
  const optional = plain.endsWith('?')
  const inner = optional ? plain.slice(0, -1) : plain
  const list = /^(.*?)(\[\d*\])$/.exec(inner)
  return { base: list ? list[1] : inner, list: Boolean(list), fixed: /\[\d+\]$/.test(inner), optional }
}

function splitTop(text) {
  const parts = []
  let depth = 0
  let from = 0
  for (let i = 0; i < text.length; i++) {
    if ('([{'.includes(text[i])) depth++
    if (')]}'.includes(text[i])) depth--
    if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(from, i).trim())
      from = i + 1
    }
  }
  if (text.slice(from).trim()) parts.push(text.slice(from).trim())
  return parts
}

function parseSchema(text) {
  const open = text.indexOf('(')
  let depth = 0
  let close = open
  for (; close < text.length; close++) {
    if (text[close] === '(') depth++
    if (text[close] === ')' && --depth === 0) break
  }
  const args = []
  let keyword = false
  for (const part of splitTop(text.slice(open + 1, close))) {
    if (part === '*') {
      keyword = true
      continue
    }
    const [head, ...fallback] = part.split('=')
    const space = head.trim().lastIndexOf(' ')
    args.push({
      type: parseType(head.trim().slice(0, space)),
      name: head.trim().slice(space + 1),
      keyword,
      written: head.includes('!'),
      hasDefault: fallback.length > 0,
    })
  }
  const result = text
    .slice(close + 1)
    .replace(/^\s*->\s*/, '')
    .trim()
  const returns =
    result === '()' ? [] : result.startsWith('(') && !result.startsWith('(a') ? splitTop(result.slice(1, -1)) : [result]
  const inPlace = returns.length === 1 && /^Tensor\([a-z]!\)/.test(returns[0])
  return { text, args, returns: returns.map(r => parseType(r.split(' ')[0])), inPlace }
}

const hidden = new Set(['layout', 'pin_memory', 'memory_format'])

function tsType({ base, list, optional, fixed }) {
  const one =
    {
      Tensor: 'Tensor',
      Scalar: 'NumberLike',
      int: 'NumberLike',
      SymInt: 'NumberLike',
      float: 'NumberLike',
      bool: 'boolean',
      str: 'string',
      ScalarType: 'DType',
      Device: 'Device',
      Generator: 'RandomGenerator',
    }[base.replace('?', '')] ?? 'never'
  if (!list) return optional && one === 'Tensor' ? 'Tensor | null' : one
  const element = base.endsWith('?') ? `${one} | null` : one
  const array = element.includes('|') ? `readonly (${element})[]` : `readonly ${element}[]`
  return fixed && (base === 'int' || base === 'SymInt') ? `${array} | NumberLike` : array
}

function checkOf(type, name) {
  if (type.list) return `Array.isArray(${name})`
  if (type.base === 'Tensor') return `isTensor(${name})`
  if (type.base === 'bool') return `typeof ${name} === 'boolean'`
  if (type.base === 'str') return `typeof ${name} === 'string'`
  if (type.base === 'Generator') return `${name} !== undefined`
  return `isNumber(${name})`
}

/** Required arguments and those before the first boolean are positional; booleans, and what follows them, are options. */
function arrange(schema, method, keywords) {
  const given = schema.args.filter(a => !hidden.has(a.name)).slice(method ? 1 : 0)
  const firstBool = given.findIndex(
    a => keywords.has(a.name) || a.type.base === 'bool' || a.type.base === 'Generator' || a.type.base === 'ScalarType',
  )
  const cut = firstBool < 0 ? given.length : firstBool
  return { positional: given.slice(0, cut), options: given.slice(cut) }
}

function emit(name, overloads, constants) {
  const parsed = overloads.map(o => {
    const text = schemas.get(o)
    if (!text) throw new Error(`libtorch has no operator ${o}`)
    return { id: o, ...parseSchema(text) }
  })
  const method =
    parsed[0].args[0]?.name === 'self' && parsed[0].args[0].type.base === 'Tensor' && !parsed[0].args[0].type.list
  const keywords = new Set(parsed.flatMap(p => p.args.filter(a => a.keyword).map(a => a.name)))
  const arranged = parsed.map(p => arrange(p, method, keywords))
  const width = Math.max(...arranged.map(a => a.positional.length))
  const params = []
  for (let i = 0; i < width; i++) {
    const here = arranged.map(a => a.positional[i]).filter(Boolean)
    const types = [...new Set(here.map(a => tsType(a.type)))]
    const optional = here.length < arranged.length || here.some(a => a.hasDefault)
    const label = safe(camel(here[0].name))
    params.push({ name: label, type: types.join(' | '), optional })
  }
  // An optional parameter cannot stand before a required one.
  for (let i = params.length - 2; i >= 0; i--)
    if (params[i].optional && !params[i + 1].optional) params[i + 1].optional = true
  const options = new Map()
  for (const a of arranged) for (const o of a.options) options.set(camel(o.name), o)
  const required = arranged.length === 1 && [...options.values()].some(o => !o.hasDefault)
  const optionType = options.size
    ? `{ ${[...options].map(([n, o]) => `${n}${required && !o.hasDefault ? '' : '?'}: ${tsType(o.type)}${required && !o.hasDefault ? '' : ' | undefined'}`).join('; ')} }`
    : ''
  const list = params.map(p => `${p.name}${p.optional ? '?' : ''}: ${p.type}${p.optional ? ' | undefined' : ''}`)
  if (optionType) list.push(required ? `options: ${optionType}` : `options: ${optionType} = {}`)

  const returnType = [...new Set(parsed.map(p => returnTypeOf(p, method)))].join(' | ')
  const body = []
  parsed.forEach((p, k) => {
    const constant = `op_${p.id.replace('.', '_')}`
    constants.set(
      constant,
      `const ${constant} = operator('${p.id.split('.')[0]}', '${p.id.split('.')[1] ?? ''}', '${p.args.map(a => a.name).join(',')}')`,
    )
    const lines = [`begin(${constant})`]
    for (const a of p.args) {
      const at = arranged[k].positional.findIndex(x => x.name === a.name)
      const inOptions = arranged[k].options.some(x => x.name === a.name)
      const value =
        method && a === p.args[0]
          ? 'this'
          : at >= 0
            ? params[at].name
            : inOptions
              ? `options.${camel(a.name)}`
              : 'undefined'
      const put =
        a.type.base === 'ScalarType' && !a.type.list ? 'argDtype' : a.type.base === 'Device' ? 'argDevice' : 'arg'
      lines.push(value === 'undefined' ? 'arg(undefined)' : `${put}(${value})`)
    }
    lines.push(...finishOf(p, constant, method))
    const checks = []
    if (k < parsed.length - 1) {
      for (let i = 0; i < width; i++) {
        const mine = arranged[k].positional[i]
        if (!mine) checks.push(`${params[i].name} === undefined`)
        else {
          const c = checkOf(mine.type, params[i].name)
          checks.push(mine.hasDefault || mine.type.optional ? `(${params[i].name} == null || ${c})` : c)
        }
      }
      for (const o of arranged[k].options) if (!o.hasDefault) checks.push(`options.${camel(o.name)} !== undefined`)
      for (const [n] of options)
        if (!arranged[k].options.some(o => camel(o.name) === n)) checks.push(`options.${n} === undefined`)
      body.push(`if (${checks.join(' && ')}) {`, ...lines.map(l => `  ${l}`), '}')
    } else body.push(...lines)
  })
  const signatures = parsed.map(p => p.text.replace(/\*\//g, '* /'))
  const doc =
    signatures.length === 1 ? [`/** ${signatures[0]} */`] : ['/**', ...signatures.map(one => ` * ${one}`), ' */']
  const head = method
    ? `${name}(${list.join(', ')}): ${returnType} {`
    : `export function ${name}(${list.join(', ')}): ${returnType} {`
  const text = [...doc, head, ...body.map(l => `  ${l}`), '}']
  return { method, text }
}

function shapeOf(p) {
  // An `out` argument has the result already.
  if (p.inPlace) return p.args.some(a => a.keyword && a.written) ? 'nothing' : 'self'
  if (p.returns.length === 0) return 'nothing'
  if (p.returns.length > 1) return 'several'
  const [r] = p.returns
  if (r.list) return 'list'
  return r.base === 'Tensor' ? 'tensor' : 'scalar'
}

function returnTypeOf(p, method) {
  switch (shapeOf(p)) {
    case 'self':
      return method ? 'this' : 'Tensor'
    case 'nothing':
      return 'void'
    case 'several':
      return `[${p.returns.map(r => (r.base === 'Tensor' ? 'Tensor' : 'unknown')).join(', ')}]`
    case 'list':
      return 'Tensor[]'
    case 'tensor':
      return 'Tensor'
    default:
      return p.returns[0].base === 'bool' ? 'boolean' : 'number'
  }
}

function finishOf(p, constant, method) {
  switch (shapeOf(p)) {
    case 'self':
      return [`toNothing(${constant})`, `return ${method ? 'this' : p.args[0].name}`]
    case 'nothing':
      return [`toNothing(${constant})`, 'return']
    case 'several':
      return [`return toSeveral(${constant}, ${p.returns.length}) as ${returnTypeOf(p)}`]
    case 'list':
      return [`return toList(${constant}) as Tensor[]`]
    case 'tensor':
      return [`return toTensor(${constant}) as Tensor`]
    default:
      return [`return toScalar(${constant}) as ${returnTypeOf(p)}`]
  }
}

const constants = new Map()
const methods = []
const functions = []
for (const line of readFileSync(new URL('src/tensor/operators.txt', root), 'utf8').split('\n')) {
  if (!line.trim() || line.startsWith('#')) continue
  const [name, overloads] = line.split(':')
  const { method, text } = emit(name.trim(), overloads.trim().split(/\s+/), constants)
  if (method) methods.push(...text.map(l => `  ${l}`), '')
  else functions.push(...text, '')
}

const version = native.machine().libtorchVersion.split('.').slice(0, 2).join('.')
const output = `// Written by tools/generate-operators.mjs from operators.txt and the schemas of libtorch ${version}. Do not edit.
import { arg, argDevice, argDtype, begin, type NumberLike, operator, Ref, Sym, toList, toNothing, toScalar, toSeveral, toTensor } from './call.js'
import type { Device, DType } from './dtype.js'
import type { RandomGenerator } from './random.js'
import type { Tensor } from './tensor.js'

const isTensor = (value: unknown): boolean => value instanceof Ref && !(value instanceof Sym)
const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint' || value instanceof Sym

${[...constants.values()].join('\n')}

/** The operators that have a tensor as their first argument. */
export abstract class TensorOperators extends Ref {
${methods.join('\n').trimEnd()}
}

${functions.join('\n').trimEnd()}
`

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== output) {
    console.error('src/tensor/operators.generated.ts is not what tools/generate-operators.mjs writes; run it')
    process.exit(1)
  }
} else {
  writeFileSync(target, output)
  console.log(
    `${methods.filter(l => l.trim().startsWith('/**')).length} methods, ${functions.filter(l => l.startsWith('/**')).length} functions`,
  )
}
