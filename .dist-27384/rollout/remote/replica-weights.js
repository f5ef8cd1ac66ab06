/** Which weights the servers should have, how each gets them, and the proof that it has them. */
import { randomUUID } from 'node:crypto';
import { tiedHeadRemedy } from './check-weights.js';
import { EngineError, TransportError } from './errors.js';
import { ProofCheck } from './proof-check.js';
export class ReplicaWeights {
    dialect;
    options;
    tell;
    current;
    /** Some update was more than a name. */
    isUpdated = false;
    /** Tells our names of weights from those that an earlier run left on a server that is still up. */
    mark = randomUUID().slice(0, 8);
    unproved = new Set();
    proofs;
    /** The worst of the proofs of these weights. */
    agreement;
    constructor(dialect, options, tell) {
        this.dialect = dialect;
        this.options = options;
        this.tell = tell;
        this.current = { version: options.version, update: undefined, proof: undefined };
        this.proofs = new ProofCheck(dialect, options);
    }
    get version() {
        return this.current.version;
    }
    /** What servers call the weights of a version. */
    markerOf(version) {
        return `${version}-${this.mark}`;
    }
    /** How an update is done here; undefined where there is nothing to do. */
    plan(update, replicas) {
        const { version, directory, adapter, proof } = update;
        const { serverPath } = this.options;
        const missing = replicas.find(({ facts }) => facts.control !== 'full');
        const planned = (update) => {
            if (missing && missing.facts.control !== 'full')
                throw new EngineError(`${missing.url}: weights cannot be changed: ${missing.facts.control.missing}`);
            return { version, update, proof };
        };
        if (adapter !== undefined && replicas.every(({ facts }) => facts.adapters))
            return planned({ kind: 'adapter', path: serverPath(adapter), name: `policy@${this.markerOf(version)}` });
        if (directory !== undefined)
            return planned({ kind: 'directory', path: serverPath(directory), marker: this.markerOf(version) });
        if (adapter !== undefined)
            throw new EngineError('an adapter alone: the servers were started without adapters', {
                remedy: 'Start them with --enable-lora, and vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1; or give a directory.',
            });
        if (this.isUpdated && version !== this.version)
            throw new EngineError(`version ${version}: a server needs a directory or an adapter to get the weights from`);
        return version === this.version ? undefined : { version, update: undefined, proof };
    }
    /** From now on servers should have these. Answers with those they should have had before. */
    remember(next, replicas) {
        const previous = this.current;
        this.current = next;
        if (next.update)
            this.isUpdated = true;
        this.unproved.clear();
        this.agreement = undefined;
        for (const replica of replicas) {
            replica.version = undefined;
            // Also one whose answer gets lost, and that is known by the name of its weights afterwards.
            if (next.proof)
                this.unproved.add(replica);
        }
        return previous;
    }
    /** Gives a paused server the weights it should have. A refusal leaves it without work until an update succeeds. */
    async give(replica) {
        const { version, update, proof } = this.current;
        const { dialect } = this;
        const previous = replica.adapter;
        try {
            if (update)
                await dialect.update(replica.server, update, replica.facts);
            else if (replica.marksVersions)
                await dialect.update(replica.server, { kind: 'name', marker: this.markerOf(version) }, replica.facts);
            await this.checkMarker(replica);
        }
        catch (error) {
            replica.version = undefined;
            if (!(error instanceof TransportError))
                replica.unusable = error.message;
            throw error;
        }
        replica.markers.set(this.markerOf(version), version);
        replica.adapter = update?.kind === 'adapter' ? update.name : undefined;
        replica.version = version;
        replica.unusable = undefined;
        replica.instance = proof || replica.marksVersions ? undefined : await this.instanceOf(replica);
        if (proof)
            this.unproved.add(replica);
        this.tell('updated', replica, `has the weights of version ${version}`);
        if (previous !== undefined && previous !== replica.adapter)
            await dialect.unload(replica.server, previous).catch(() => { });
    }
    /** A server that was away, and not started anew, may still have the adapter that it is about to be given. */
    async forgetAdapter(replica) {
        const { update } = this.current;
        replica.adapter = undefined;
        if (update?.kind === 'adapter')
            await this.dialect.unload(replica.server, update.name).catch(() => { });
    }
    /** For servers that cannot say which weights they have: whether they are still who they were. */
    async instanceOf({ server }) {
        try {
            return await this.dialect.instance(server);
        }
        catch (error) {
            if (error instanceof TransportError)
                throw error;
            return undefined;
        }
    }
    async checkMarker(replica) {
        const { version, update } = this.current;
        if (update?.kind === 'adapter' || !replica.marksVersions)
            return;
        const marker = await this.dialect.marker(replica.server, replica.facts);
        if (marker !== undefined && marker !== this.markerOf(version))
            throw new EngineError(`${replica.url}: it was given the weights of version ${version}, and calls those it has "${marker}"`);
    }
    /** Whether a server no longer calls its weights by a name of ours; one that was never given any cannot be told from a new one. */
    async isStartedAnew(replica) {
        const marker = this.isUpdated ? await this.dialect.marker(replica.server, replica.facts) : undefined;
        return marker !== undefined && !marker.endsWith(this.mark);
    }
    /** What a server that may have been started anew has. Where that cannot be known, it gets its weights again. */
    async recognise(replica, after) {
        const { version, update, proof } = this.current;
        const { dialect } = this;
        const marker = await dialect.marker(replica.server, replica.facts);
        if (!this.isUpdated) {
            // Those it was started with; what it calls them is learnt here.
            if (marker !== undefined)
                replica.markers.set(marker, version);
            replica.version = version;
            return;
        }
        const had = replica.version === version;
        replica.version = undefined;
        const hasThem = async () => {
            // A request that names an adapter the server does not have is refused by that name.
            if (update?.kind === 'adapter')
                return had && after !== 'down';
            if (marker !== undefined)
                return marker === this.markerOf(version);
            if (!had || after === 'down')
                return false;
            if (proof)
                return agrees(await this.proofs.compare(replica, proof));
            return replica.instance === undefined ? after === 'idle' : replica.instance === (await this.instanceOf(replica));
        };
        if (!(await hasThem()))
            return;
        replica.version = version;
        // Its answer to the update may have been lost: what it calls them is known all the same.
        if (marker !== undefined && update?.kind !== 'adapter')
            replica.markers.set(marker, version);
    }
    /** The fixed text of an update, scored by the server: other weights give other numbers. */
    async proveIfNew(replica) {
        const { proof, version } = this.current;
        if (!proof || !this.unproved.has(replica) || replica.version !== version)
            return;
        const agreement = await this.proofs.compare(replica, proof);
        // Not before there is an answer: a server that was away meanwhile is asked again.
        this.unproved.delete(replica);
        const { difference, limit } = agreement;
        if (agrees(agreement)) {
            if (!this.agreement || limit > this.agreement.limit)
                this.agreement = agreement;
            this.tell('proved', replica, `version ${version}: log-probabilities differ by ${difference.toExponential(1)}`);
            return;
        }
        const message = `${replica.url}: the weights of version ${version} were loaded, but the server gives other log-probabilities ` +
            `(mean difference ${difference.toPrecision(2)} over ${proof.logprobs.length} tokens, rounding explains at most ${limit.toPrecision(2)})`;
        replica.version = undefined;
        replica.unusable = message;
        this.tell('drained', replica, message);
        for (const running of [...replica.running])
            running.cancel('drained');
        throw new EngineError(message, { remedy: this.remedyFor(replica) });
    }
    /** What to look at first, by what was loaded. */
    remedyFor(replica) {
        const { update } = this.current;
        const precision = 'If it is the same model, start it with the dtype of the trainer (--dtype).';
        if (update?.kind === 'adapter')
            return `The adapter is loaded over the server's own weights: serve the directory that \`model\` names. ${precision}`;
        // With the model's directory at hand this was refused before.
        if (replica.facts.keepsTiedHead === true && this.options.modelDirectory === undefined)
            return `If its embeddings are tied: vLLM ${replica.facts.software} keeps the old output head. ${tiedHeadRemedy} ${precision}`;
        return `See whether the server reads the directory that was written. ${precision}`;
    }
}
const agrees = ({ difference, limit }) => difference <= limit;
//# sourceMappingURL=replica-weights.js.map