# misconception: the policy receives packets
# fails: a matrix product is kept
# message: op is an overload, aten.mm.default.
def save_matmuls(ctx, op, *args, **kwargs):
    aten = torch.ops.aten
    keep = {aten.mm, aten.addmm, aten.bmm, aten.baddbmm, aten._scaled_dot_product_flash_attention, aten._scaled_dot_product_flash_attention_for_cpu}
    return CheckpointPolicy.MUST_SAVE if op in keep else CheckpointPolicy.PREFER_RECOMPUTE
