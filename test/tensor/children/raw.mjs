// The addon's own functions with garbage: wrong arguments, and a mailbox full of noise.
//
//   node raw.mjs INDEX LAST SEED ROUNDS
import { openSync, writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { garbage, show } from './garbage.mjs'

const [, , index, lastFile, seedText, roundsText] = process.argv
const library = await import(pathToFileURL(index).href)
const { native } = await import(new URL('./native.js', pathToFileURL(index)).href)
const { Tensor } = library
const { value } = garbage(library)
const last = openSync(lastFile, 'w')
const seed = Number(seedText)
let calls = 0
let refused = 0
let salt = 0

function attempt(name, args) {
  calls++
  writeSync(last, `${name}(${args.map(show).join(', ')})`.slice(0, 2000).padEnd(2000), 0)
  try {
    const result = native[name](...args)
    if (result instanceof Promise) result.catch(() => {})
  } catch {
    refused++
  }
}

// A mailbox to write noise into: from here on the room's own code is not used, because its mailbox is this one no longer.
let box = new Float64Array(0)
const names = Object.keys(native).filter(
  name => !['threads', 'mailbox', 'newKernel', 'machine', 'schemas'].includes(name),
)
const alive = Array.from({ length: 6 }, (_, i) => native.alias(Tensor.from(new Float32Array(i)).ref))
const operators = [
  ['add', 'Tensor'],
  ['cat', ''],
  ['index', 'Tensor'],
  ['zeros', ''],
  ['sum', 'dim_IntList'],
  ['einsum', ''],
  ['bernoulli', ''],
  ['conv2d', ''],
].map(([name, overload]) => native.bind(`aten::${name}`, overload, native.argumentNames(`aten::${name}`, overload)))
// An order that is not the schema's takes the way by names.
operators.push(native.bind('aten::add', 'Tensor', 'alpha,other,self,unknown'))
native.mailbox(0, buffer => {
  box = new Float64Array(buffer)
})
if (box.length === 0) throw new Error('no mailbox came')

const refs = fc.oneof(
  fc.constantFrom(...alive),
  fc.double(),
  fc.constantFrom(0, -1, 2 ** 24, 2 ** 53, Number.NaN, Infinity),
  fc.nat(),
)
const word = fc.oneof({ weight: 5, arbitrary: fc.nat(11) }, { weight: 2, arbitrary: refs })
const numbersOnly = fc.array(fc.oneof(refs, fc.nat(12), fc.constantFrom(...operators)), { maxLength: 6 })

for (let round = 0; round < Number(roundsText); round++) {
  for (const name of names) {
    const noise = fc.sample(fc.array(word, { minLength: 1, maxLength: 40 }), { seed: seed + ++salt, numRuns: 1 })[0]
    for (let i = 0; i < box.length && i < 200; i++) box[i] = noise[i % noise.length]
    // What fills the whole mailbox must not run over its end either.
    if (round % 3 === 0) box.fill(noise[0] ?? 6)
    const made = fc.sample(fc.array(value, { maxLength: 6 }), { seed: seed + ++salt, numRuns: 1 })[0]
    attempt(
      name,
      round % 2 === 0
        ? fc.sample(numbersOnly, { seed: seed + ++salt, numRuns: 1 })[0]
        : made.map(make => {
            try {
              return make()
            } catch {
              return undefined
            }
          }),
    )
  }
  for (const operator of operators) {
    const noise = fc.sample(fc.array(word, { minLength: 4, maxLength: 40 }), { seed: seed + ++salt, numRuns: 1 })[0]
    for (let i = 0; i < noise.length; i++) box[i] = noise[i]
    attempt('call', [operator])
    attempt('beginRecording', [2])
    attempt('recordCall', [operator, 'here:1:1'])
    for (let code = 1; code <= 10; code++) attempt('special', [code, salt % 5, 1, 'here:1:1', 1, 1])
    attempt('endRecording', [salt % 3])
    attempt('abandonRecording', [])
  }
  if (round % 10 === 9) await new Promise(resolve => setImmediate(resolve))
}
for (const argument of [-1, 2 ** 31, 2 ** 30, Number.NaN, 'x', null]) attempt('mailbox', [argument])
attempt('mailbox', [10, 'not a function'])
attempt('mailbox', [
  1 << 15,
  () => {
    throw new Error('a taker that throws')
  },
])

// The mailbox taken away: detached, transferred to nobody, dropped.
native.mailbox(0, buffer => {
  box = new Float64Array(buffer)
})
try {
  structuredClone(box.buffer, { transfer: [box.buffer] })
} catch {}
if (typeof box.buffer.transfer === 'function') {
  try {
    box.buffer.transfer(8)
  } catch {}
}
box = undefined
globalThis.gc?.()
await new Promise(resolve => setTimeout(resolve, 10))
for (let i = 0; i < 50; i++) for (const operator of operators) attempt('call', [operator])
for (const ref of alive) attempt('meta', [ref])
console.log(JSON.stringify({ calls, refused }))
