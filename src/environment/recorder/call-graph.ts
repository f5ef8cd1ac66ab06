/**
 * What an agent asked and what the policy said, as a graph: a request whose history is that of an earlier request and its answer goes on
 * from there. Every other request starts a new line. The episode is one line through the graph; other calls are side calls.
 */
import type { ChatMessage } from '../../text/index.js'
import type { ToolCall } from '../environment.js'
import type { Completion, Turn } from '../episode.js'
import { messageKey } from './message-key.js'

/** One answer of the policy. */
export interface CallNode {
  /** In the order of the answers. */
  readonly place: number
  readonly parent: CallNode | undefined
  /** Names its chain, in which each goes on from the one before. */
  readonly chain: number
  /** Number of answers from the start of its chain, from 1. */
  readonly depth: number
  /** Names the conversation up to its answer, with its tools. */
  readonly key: string
  /** The whole conversation of the request. */
  readonly asked: readonly ChatMessage[]
  /** The last of them, which the policy had not read in this chain. */
  readonly added: readonly ChatMessage[]
  readonly observationIds: Int32Array
  /** Everything that the policy read and said in this chain. */
  readonly ids: Int32Array
  readonly completion: Completion
  readonly text: string
  readonly message: ChatMessage
  /** The message as the agent got it. */
  readonly told: ChatMessage
  readonly calls: readonly ToolCall[]
  readonly withTools: boolean
  /** Whether the agent got the whole answer. */
  delivered: boolean
}

/** The turns of an episode, and how many answers are none. */
export interface RecordedLine {
  readonly turns: readonly Turn[]
  readonly sideCalls: number
}

/**
 * The line that lasts longest, from its first answer to its last: an agent speaks before and after the programs that it asks for help.
 * A chain whose first request repeats an answer of another chain goes on with that chain, in a new segment.
 */
export function episodeLine(nodes: readonly CallNode[]): RecordedLine {
  const sentBack = new Set(nodes.map(({ parent }) => parent))
  const heard = nodes.filter(node => node.delivered || sentBack.has(node))
  const continued = new Set(heard.map(({ parent }) => parent))
  const ends = heard.filter(node => !continued.has(node))
  let best: readonly CallNode[] = []
  for (const end of ends) {
    const line = lineTo(end, heard)
    if (isBetter(line, best)) best = line
  }
  let segment = -1
  const turns = best.map((node, i): Turn => {
    if (!node.parent) segment++
    const { observationIds, completion, message, text, calls } = node
    return {
      segment,
      observationIds,
      messages: node.parent ? node.added : newMessages(node, best.slice(0, i)),
      completion,
      length: completion.responseIds.length,
      message,
      text,
      calls,
      reward: undefined,
      stateKey: undefined,
      toolSeconds: 0,
    }
  })
  return { turns, sideCalls: nodes.length - best.length }
}

/** From the first answer to `end`, through the chains before. */
function lineTo(end: CallNode, heard: readonly CallNode[]): readonly CallNode[] {
  const chain: CallNode[] = []
  for (let node: CallNode | undefined = end; node; node = node.parent) chain.unshift(node)
  const first = chain[0]!
  const before = linked(first, heard)?.node
  return before ? [...lineTo(before, heard), ...chain] : chain
}

/** The latest answer of another chain that a request repeats, and where. */
function linked(
  { asked, place }: CallNode,
  heard: readonly CallNode[],
): { readonly node: CallNode; readonly at: number } | undefined {
  const said = new Map<string, CallNode>()
  for (const node of heard) if (node.place < place) said.set(messageKey(node.told), node)
  for (let at = asked.length - 1; at >= 0; at--) {
    const node = asked[at]!.role === 'assistant' ? said.get(messageKey(asked[at]!)) : undefined
    if (node) return { node, at }
  }
  return undefined
}

function newMessages(node: CallNode, before: readonly CallNode[]): readonly ChatMessage[] {
  const link = linked(node, before)
  return link ? node.asked.slice(link.at + 1) : node.asked
}

function isBetter(line: readonly CallNode[], best: readonly CallNode[]): boolean {
  if (best.length === 0) return true
  const spanOf = (one: readonly CallNode[]): number => one.at(-1)!.place - one[0]!.place
  const toolsOf = (one: readonly CallNode[]): number => Number(one[0]!.withTools)
  const more = spanOf(line) - spanOf(best) || toolsOf(line) - toolsOf(best)
  return more > 0 || (more === 0 && line.at(-1)!.place > best.at(-1)!.place)
}
