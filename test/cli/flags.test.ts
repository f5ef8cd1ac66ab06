import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  choice,
  directory,
  flagHelp,
  integer,
  number,
  readArguments,
  readFlags,
  toggle,
  UsageError,
} from '../../src/cli/flags.js'

const schema = z.object({
  model: directory('a model'),
  topP: number({
    description:
      'a share of the probability, which is said at such length that the line has to be broken somewhere in it',
    placeholder: 'P',
    expected: 'a number above 0 and at most 1',
    accepts: value => value > 0 && value <= 1,
  }).default(1),
  layers: integer('how many', { min: 1, max: 9 }).optional(),
  side: choice(['left', 'right'], 'SIDE', 'which').default('left'),
  kind: choice(['alpha', 'beta', 'gamma'], 'KIND', 'of what kind').optional(),
  stopId: z.array(integer('several', { min: 0 })).default([]),
  dryRun: toggle('do nothing'),
})

test('flags are read as their schema says, by the names they are typed with', () => {
  const args = '--model m --top-p 0.5 --layers=3 --stop-id 1 --stop-id 2 --dry-run'.split(' ')
  expect(readFlags(args, schema)).toEqual({
    model: 'm',
    topP: 0.5,
    layers: 3,
    side: 'left',
    stopId: [1, 2],
    dryRun: true,
  })
  expect(readFlags(['--model', 'm'], schema)).toEqual({ model: 'm', topP: 1, side: 'left', stopId: [] })
})

describe('misuse names the flag as it is typed', () => {
  test.each([
    ['', '--model: expected a directory'],
    ['--model=', '--model: expected a directory'],
    ['--model m --top-p 2', '--top-p: expected a number above 0 and at most 1, got "2"'],
    ['--model m --top-p=', '--top-p: expected a number above 0 and at most 1, got ""'],
    ['--model m --top-p 0x', '--top-p: expected a number above 0 and at most 1, got "0x"'],
    ['--model m --layers 10', '--layers: expected an integer from 1 to 9, got "10"'],
    ['--model m --stop-id 1 --stop-id x', '--stop-id: expected an integer of at least 0, got "x"'],
    ['--model m --side up', '--side: expected left or right, got "up"'],
    ['--model m --kind bets', '--kind: expected one of alpha, beta, gamma, got "bets"; did you mean beta?'],
    ['--model m --top_p 1', 'there is no option --top_p; did you mean --top-p?'],
    ['--layers 0', '--model: expected a directory\n--layers: expected an integer from 1 to 9, got "0"'],
    ['--model', "Option '--model <value>' argument missing"],
    ['--model m word', 'unexpected "word"'],
  ])('%s', (line, message) => {
    const read = (): unknown => readFlags(line.split(' ').filter(Boolean), schema)
    expect(read).toThrow(UsageError)
    expect(read).toThrow(message)
  })
})

test('words that are no flags, for verbs that take them', () => {
  expect(readArguments(['a', '--model', 'm', 'b'], schema, { positionals: 'keep' }).positionals).toEqual(['a', 'b'])
})

test('the help is made of the descriptions', () => {
  expect(flagHelp(schema)).toBe(
    [
      '  --model DIR   a model',
      '  --top-p P     a share of the probability, which is said at such length that the line has to be broken somewhere in it',
      '                (default 1)',
      '  --layers N    how many',
      '  --side SIDE   which (default left)',
      '  --kind KIND   of what kind',
      '  --stop-id     ',
      '  --dry-run     do nothing',
    ].join('\n'),
  )
})
