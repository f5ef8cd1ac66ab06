/** Two machines on this one: network namespaces with a cable between them. */
import { execFileSync } from 'node:child_process'
import { atEnd } from './at-end.js'

export interface Machine {
  readonly address: string
  /** What runs a program there, before its command line. */
  readonly enter: readonly string[]
  /** Pulls its cable. */
  cut(): void
}

let count = 0

const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'pipe' })

/** Why machines cannot be made here; undefined where they can. */
export function machinesProblem(): string | undefined {
  const name = `ws-try-${process.pid}`
  try {
    ip('netns', 'add', name)
    ip('netns', 'del', name)
    return undefined
  } catch (error) {
    return `no network namespaces here (${(error as Error).message.split('\n')[0]})`
  }
}

export function twoMachines(): readonly [Machine, Machine] {
  const number = count++
  const make = (side: 0 | 1): Machine => {
    const [name, cable] = [`ws-${process.pid}-${number}-${side}`, `ws${process.pid % 100_000}${number}${side}`]
    return {
      address: `10.91.${number % 250}.${side + 1}`,
      enter: ['ip', 'netns', 'exec', name],
      cut: () => ip('-n', name, 'link', 'set', cable, 'down'),
    }
  }
  const machines = [make(0), make(1)] as const
  const cable = (side: 0 | 1): string => `ws${process.pid % 100_000}${number}${side}`
  for (const { enter } of machines) {
    ip('netns', 'add', enter[3]!)
    atEnd(() => ip('netns', 'del', enter[3]!))
  }
  ip(
    'link',
    'add',
    cable(0),
    'netns',
    machines[0].enter[3]!,
    'type',
    'veth',
    'peer',
    'name',
    cable(1),
    'netns',
    machines[1].enter[3]!,
  )
  for (const [i, { enter, address }] of machines.entries()) {
    const inside = ['-n', enter[3]!]
    ip(...inside, 'addr', 'add', `${address}/24`, 'dev', cable(i as 0 | 1))
    ip(...inside, 'link', 'set', cable(i as 0 | 1), 'up')
    ip(...inside, 'link', 'set', 'lo', 'up')
  }
  return machines
}
