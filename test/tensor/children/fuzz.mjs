// Calls every typed method and function, and the generic call, with garbage. An error is the right answer; this process ending
// is the failure. What was called last is in the file given, for the parent to show.
//
//   node fuzz.mjs INDEX LAST SEED ROUNDS typed|generic
import { openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { garbage, show } from './garbage.mjs'

const [, , index, lastFile, seedText, roundsText, mode] = process.argv
const library = await import(pathToFileURL(index).href)
const operators = await import(new URL('./operators.generated.js', pathToFileURL(index)).href)
const { native } = await import(new URL('./native.js', pathToFileURL(index)).href)
const { Tensor, callOperator, scope, memoryUse, threads } = library
threads(1)
const last = openSync(lastFile, 'w')
// Some operators make files of the names they are given.
process.chdir(dirname(lastFile))
const { value, tensors, graded, numbers, later, listOf } = garbage(library)

let calls = 0
let refused = 0
function attempt(name, call, args) {
  calls++
  writeSync(last, `${name}(${args.map(show).join(', ')})`.slice(0, 2000).padEnd(2000), 0)
  try {
    // Nothing made by one call is seen by the next: a tensor of 2^40 expanded elements would take an hour to add up.
    scope(() => {
      const result = call(...args)
      if (result instanceof Promise) result.catch(() => {})
    })
  } catch {
    refused++
  }
}

const methods = []
for (const prototype of [Tensor.prototype, operators.TensorOperators.prototype])
  for (const name of Object.getOwnPropertyNames(prototype)) if (name !== 'constructor') methods.push(name)
const functions = Object.entries(operators).filter(([name]) => name !== 'TensorOperators')

const seed = Number(seedText)
const rounds = Number(roundsText)
const samples = (arbitrary, count, salt) =>
  fc.sample(arbitrary, { seed: seed + salt, numRuns: count }).map(make => make())

// What a schema's type asks for, most of the time.
function fitting(type) {
  const base = type.replace('?', '')
  const small = later(fc.integer({ min: -2, max: 4 }))
  if (base.startsWith('Tensor') && base.endsWith('[]')) return listOf(fc.oneof(tensors, graded), 3)
  if (base.startsWith('Tensor')) return fc.oneof(tensors, graded)
  if (/^(int|SymInt|float|bool)\[/.test(base)) return listOf(fc.oneof(small, numbers), 4)
  if (base === 'bool') return later(fc.boolean())
  if (base === 'ScalarType') return later(fc.constantFrom('float32', 'int64', 'bool', 40, 12, 44, -1))
  if (base === 'Layout' || base === 'MemoryFormat') return later(fc.constantFrom(0, 1, 2, 3, 9))
  if (base === 'str') return later(fc.constantFrom('mean', 'none', 'sum', 'linear', 'ij,jk->ik'))
  return fc.oneof(small, numbers)
}

// A degree of 2^40 is no mistake, and computed for hours.
const slow = /polynomial/

let salt = 0
for (let round = 0; round < rounds; round++) {
  if (mode === 'typed') {
    for (const name of methods) {
      for (const self of samples(fc.oneof(tensors, graded, value), 2, ++salt)) {
        const args = samples(value, 6, ++salt).slice(0, salt % 6)
        attempt(
          name,
          (...given) => {
            if (typeof self !== 'object' || self === null) return
            const descriptor = Object.getOwnPropertyDescriptor(Tensor.prototype, name)
            if (descriptor?.get)
              return descriptor.set && given.length ? descriptor.set.call(self, given[0]) : descriptor.get.call(self)
            return Tensor.prototype[name].apply(self, given)
          },
          args,
        )
      }
    }
    for (const [name, fn] of functions) attempt(name, fn, samples(value, 6, ++salt).slice(0, salt % 6))
    for (const args of samples(listOf(value, 3), 8, ++salt)) {
      attempt('Tensor.from', Tensor.from, args)
      attempt('Tensor.empty', Tensor.empty, args)
      attempt('gradients', library.gradients, args)
      attempt('callOperator', callOperator, args)
      attempt('callOperator add', callOperator, ['add.Tensor', ...args])
      attempt('noGrad', library.noGrad, args)
      attempt('scope', library.scope, args)
      attempt('keep', library.keep, args)
      attempt('scopeAsync', library.scopeAsync, args)
      attempt('record', library.record, args)
      attempt('record add', () => library.record(['tensor'], x => x.add(args[0], args[1])).call(args[2]), args)
      attempt('record returns', () => library.record(args[0], () => args[1]), args)
      attempt('run', () => library.record(['tensor', 'number'], (x, n) => x.mul(n)).run(...args), args)
      attempt('checkpoint', () => library.checkpoint(['tensor'], x => x.exp())(...args), args)
      attempt('customFunction', () => library.customFunction(args[0])(args[1]), args)
      attempt('memoryUse', library.memoryUse, args)
      attempt('manualSeed', library.manualSeed, args)
      attempt('RandomGenerator', (...given) => new library.RandomGenerator(...given), args)
      attempt('setState', () => new library.RandomGenerator({ seed: 1 }).setState(args[0]), args)
    }
  } else {
    for (const schema of native.schemas()) {
      const match = /^aten::([a-z]\w*(?:\.\w+)?)\((.*)\) -> /.exec(schema)
      if (!match || slow.test(match[1])) continue
      const types = match[2]
        .replace(/\([a-z]!?(?: -> \*)?\)/g, '')
        .split(', ')
        .filter(part => part !== '*' && part !== '')
        .map(part => part.split(' ')[0])
      const args = types.map(type => samples(salt % 5 === 4 ? value : fitting(type), 1, ++salt)[0])
      attempt(match[1], callOperator, [match[1], ...(salt % 7 === 0 ? args.slice(1) : args)])
    }
  }
  if (round % 8 === 7) await new Promise(resolve => setImmediate(resolve))
}
// The room still works.
const sum = Tensor.from([1, 2, 3]).sum().item()
console.log(JSON.stringify({ calls, refused, sum, live: memoryUse().liveTensors }))
