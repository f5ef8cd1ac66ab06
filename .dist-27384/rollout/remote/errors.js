import { WhetstoneError } from '../../errors/index.js';
/** A server that cannot be used, or did not do what it was told. Says which, and repeats its words. */
export class EngineError extends WhetstoneError {
    name = 'EngineError';
}
/** An answer that is not what was agreed on. */
export class ProtocolError extends EngineError {
    name = 'ProtocolError';
}
/**
 * No answer. `unreachable`: no connection, or one that broke. `timeout`: not within the deadline. `cancelled`: we no longer
 * wanted one.
 */
export class TransportError extends EngineError {
    kind;
    name = 'TransportError';
    constructor(kind, message, options = {}) {
        super(message, options);
        this.kind = kind;
    }
}
/** A refusal that came where an answer was expected: as an event of a stream whose status was a success. */
export class RefusalError extends EngineError {
    refusal;
    name = 'RefusalError';
    constructor(refusal) {
        super(refusal.message);
        this.refusal = refusal;
    }
}
//# sourceMappingURL=errors.js.map