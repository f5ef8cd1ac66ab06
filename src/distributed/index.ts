/**
 * Several processes that train as one: ranks on the GPUs of a machine, or of several machines.
 *
 * Rank 0 is the controller. It has the run directory, the journal, the data, the rewards and the loop; the other ranks hold models
 * and do what it asks. Three things connect them:
 *
 * - the store (`Store` of `src/tensor`, c10d's TCPStore): how ranks find each other. Rank 0 publishes where it listens;
 * - a connection from each rank to rank 0 (`peer.ts`): commands, token ids, outputs and gradients per token, some tens of bytes per
 *   token. An idle rank waits there without a time limit, and a rank that dies is seen at once;
 * - the group (`ProcessGroup` of `src/tensor`, gloo or NCCL): everything that is a tensor of a model. Gradients, norms, weights and
 *   optimiser states move by collectives.
 *
 * The files:
 *
 * - `rank.ts`: how a process takes part (`RankOptions`), and who it is (`RankIdentity`);
 * - `world.ts`: the controller's side (`World`). `rank-worker.ts`: the others' side (`serveRank`);
 * - `frames.ts`, `peer.ts`: messages and exchanges. `errors.ts`: errors that cross them;
 * - `shard-plan.ts`: which rank computes which sequences. `sequence-arrays.ts`, `output-arrays.ts`: what travels;
 * - `distributed-model.ts`: a `TokenModel` over the copies of all ranks (`replica.ts`), with the loss in one order (`loss-order.ts`);
 * - `rank-models.ts`: the models of a rank, and the commands that reach them. Handlers of other things come in through
 *   `serveRank({ handlers })`;
 * - `distributed-generator.ts`: a `Generator` over an engine on every rank (`rank-engines.ts`);
 * - `watch.ts`: finds the rank that is gone, silent, stuck or out of order, and says so. `stalls.ts`: a rank finds its own pass that gets
 *   no further.
 *
 * - `ranks.ts`: the ranks of a command (`Ranks.of`), from the option `devices` (`devices.ts`) and the environment of a launcher
 *   (`environment.ts`). `launch.ts` starts ranks as child processes (`rank-process.ts`), `join.ts` joins those of a launcher.
 *
 * Whatever starts ranks makes `RankOptions` and calls `World.open` on rank 0, `serveRank` on the others. Who watches over
 * ranks uses `Peer.beat`, `Peer.heardAt`, `Peer.onLost` and `World.fail`: after `fail` everything that waits ends with that error, and
 * the other ranks lose their connection, which ends `serveRank`.
 */
export { type DeviceChoice, type Devices, devicesOption, devicesProblem, plannedRanks, rankDevices } from './devices.js'
export { DistributedGenerator } from './distributed-generator.js'
export { DistributedModel } from './distributed-model.js'
export { endingProcess } from './end-process.js'
export { type LaunchedRank, launchedRank } from './environment.js'
export { RankError } from './errors.js'
export type { Part, WireArray } from './frames.js'
export { serveLaunched } from './join.js'
export { launchRanks } from './launch.js'
export { type Exchange, type Handler, type Handlers, type IncomingCall, Peer } from './peer.js'
export { defaultLimitMs, type RankIdentity, type RankOptions, rankName } from './rank.js'
export { type JobMeasures, measureRanks, type RankMeasures, slowParts } from './rank-measures.js'
export { type LoadCommand, RankModels, type ReplicaOptions } from './rank-models.js'
export { type ServeOptions, serveRank } from './rank-worker.js'
export { leaveJob, Ranks } from './ranks.js'
export { imbalance, planShards } from './shard-plan.js'
export { type Membership, World } from './world.js'
